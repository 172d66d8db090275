//! Entities whose rows and helper rows fill a transaction.

use support::recorder::recorded;
use table_orm::entity::{Excess, TooManyElements};
use table_orm::{EntityKeys as _, Error, TableEntity};

fn labels(count: usize) -> Vec<String> {
    (0..count).map(|label| format!("x{label:03}")).collect()
}

#[derive(Debug, Clone, TableEntity)]
#[table(name = "notes", partition = "{blog}")]
#[row(by_id, key = "NOTE:{id:05}")]
#[row(by_label, key = "LAB:{label}__{id:05}", each(label in labels))]
#[row(by_day, partition = "D:{day}", key = "DAY:{id:05}__{blog}", eventual)]
struct Note {
    blog: String,
    id: u32,
    day: String,
    #[table(json)]
    labels: Vec<String>,
}

fn note(id: u32, count: usize) -> Note {
    Note { blog: "b".into(), id, day: "monday".into(), labels: labels(count) }
}

#[derive(Debug, Clone, TableEntity)]
#[table(name = "notes", partition = "{blog}", outbox)]
#[row(by_id, key = "NOTE:{id:05}")]
#[row(by_label, key = "LAB:{label}__{id:05}", each(label in labels))]
#[row(by_day, partition = "D:{day}", key = "DAY:{id:05}__{blog}", eventual)]
struct Reported {
    blog: String,
    id: u32,
    day: String,
    #[table(json)]
    labels: Vec<String>,
}

#[track_caller]
fn is_over<T: std::fmt::Debug>(result: Result<T, Error>, operations: usize) {
    let Err(Error::TooManyElements(TooManyElements { excess, row, .. })) = result else {
        panic!("{result:?}");
    };
    assert_eq!((excess, row), (Excess::Operations(operations), "by_label"));
}

#[tokio::test]
async fn the_intent_takes_the_place_of_an_element_in_a_full_transaction() {
    let (tables, record) = recorded();
    let notes = tables.repo::<Note>();
    notes.create_table().await.unwrap();
    record.take();
    // The canonical row, the labels, the intent.
    notes.insert(&note(1, 98)).await.unwrap();
    assert_eq!(record.take().writes[0], 100);
    is_over(notes.insert(&note(2, 99)).await, 101);
    assert_eq!(record.take().writes, [0; 0], "nothing was sent");
    // Each row of a label stores all labels.
    is_over(notes.update(note(1, 0).key(), |note| note.labels = labels(99)).await, 101);
}

#[tokio::test]
async fn an_event_and_its_number_take_two_places_more() {
    let (tables, record) = recorded();
    let notes = tables.repo::<Reported>();
    notes.create_table().await.unwrap();
    let note = |id, count| {
        let Note { blog, id, day, labels } = note(id, count);
        Reported { blog, id, day, labels }
    };
    record.take();
    notes.insert(&note(1, 96)).await.unwrap();
    assert_eq!(record.take().writes[0], 100);
    is_over(notes.insert(&note(2, 97)).await, 101);
    assert_eq!(record.take().writes, [0; 0], "nothing was sent");
}
