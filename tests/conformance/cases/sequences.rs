//! Numbers that are given once.

use crate::subject::Subject;
use futures_util::future::join_all;
use std::collections::BTreeSet;
use std::time::Duration;
use table_orm::repo::Sequence;
use table_orm::{Repo, TableEntity};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "invoices", partition = "{customer}", row = "{number:05}")]
struct Invoice {
    customer: String,
    number: u32,
}

const PATIENT: Duration = Duration::from_secs(120);

/// Entities and a sequence of a connection of its own, as in another process.
fn connect(subject: &Subject) -> (Repo<Invoice>, Sequence) {
    let invoices = subject.tables().repo_in::<Invoice>(subject.table.clone());
    let numbers = invoices.sequence(Invoice::partition("acme"), "invoices").retry_for(PATIENT);
    (invoices, numbers)
}

pub async fn give_each_number_once(subject: Subject) {
    let contenders = (0..8).map(|_| async {
        let (_, numbers) = connect(&subject);
        let mut given = Vec::new();
        for _ in 0..20 {
            given.push(numbers.next().await.unwrap());
        }
        given
    });
    let given = join_all(contenders).await.concat();
    assert_eq!(given.len(), 160);
    assert_eq!(given.into_iter().collect::<BTreeSet<_>>().len(), 160);
}

pub async fn number_entities_without_gaps(subject: Subject) {
    let contenders = (0..8).map(|contender| {
        let (_, numbers) = connect(&subject);
        async move {
            for call in 0..4 {
                let count = 1 + (contender + call) % 3;
                let mut some = vec![Invoice { customer: "acme".into(), number: 0 }; count];
                let set = |invoice: &mut Invoice, number| invoice.number = number as u32;
                let given = numbers.insert_numbered(&mut some, set).await.unwrap();
                assert_eq!(given.count(), count);
            }
        }
    });
    join_all(contenders).await;
    let (invoices, numbers) = connect(&subject);
    let stored = invoices.list(Invoice::partition("acme")).collect().await.unwrap();
    let stored: Vec<_> = stored.into_iter().map(|invoice| invoice.number).collect();
    assert_eq!(stored, (1..=stored.len() as u32).collect::<Vec<_>>());
    assert_eq!(numbers.next().await.unwrap(), stored.len() as u64 + 1);
}
