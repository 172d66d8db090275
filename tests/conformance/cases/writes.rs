//! The write engine: guards, patches, transactions, and the repair of rows that other writers
//! broke.

use crate::subject::Subject;
use table_orm::{DynamicEntity, ETag, EntityKeys, Error, Loaded, Repo, TableEntity, TableUnion};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "clubs", partition = "{club}", unique(email))]
#[row(by_id, key = "M:{id:05}")]
#[row(by_name, key = "N:{name}__{id:05}")]
#[row(board, key = "B:{id:05}", include(name, fee))]
struct Member {
    club: String,
    id: u32,
    name: String,
    email: Option<String>,
    fee: f64,
    joined: i64,
}

/// One row, patched without reading it.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "clubs", partition = "{club}", row = "CLUB")]
struct Club {
    #[table(key_only)]
    club: String,
    members: Option<u32>,
    #[table(series)]
    visits: [Option<f64>; 12],
}

#[derive(Debug, PartialEq, TableUnion)]
enum Entry {
    Member(Member),
    Club(Club),
}

/// A trophy from before it had its second row.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "clubs", partition = "{club}", row = "T:{year:05}")]
struct OldTrophy {
    club: String,
    year: u32,
    winner: String,
}

/// A trophy as a later version of the type has it.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "clubs", partition = "{club}")]
#[row(by_year, key = "T:{year:05}")]
#[row(latest, key = "L:{newest}")]
#[row(by_winner, key = "W:{winner}__{year:05}", include(sport))]
#[component(newest = desc(year))]
struct NewTrophy {
    club: String,
    year: u32,
    winner: String,
    #[table(default = ski)]
    sport: String,
    #[table(default)]
    points: f64,
}

fn ski() -> String {
    "ski".to_owned()
}

/// Blind writes know its rows by the canonical key.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "clubs", partition = "{club}")]
#[row(by_year, key = "T:{year:05}")]
#[row(latest, key = "L:{newest}")]
#[component(newest = desc(year))]
struct Trophy {
    club: String,
    year: u32,
    winner: String,
}

const CLUB: &str = "Ski & Høi 50%";

fn member(id: u32) -> Member {
    Member {
        club: CLUB.to_owned(),
        id,
        name: format!("O'Brien {id}"),
        email: Some(format!("{id}+x@høi")),
        fee: 3.0,
        joined: 9_007_199_254_740_993,
    }
}

fn members(subject: &Subject) -> Repo<Member> {
    subject.tables().repo_in(subject.table.clone())
}

fn clubs(subject: &Subject) -> Repo<Club> {
    subject.tables().repo_in(subject.table.clone())
}

async fn keys(subject: &Subject) -> Vec<String> {
    let rows = subject.dynamic().list(CLUB, ..).collect().await.unwrap();
    rows.into_iter().map(|row| row.row_key).collect()
}

pub async fn keep_values_unique(subject: Subject) {
    let repo = members(&subject);
    repo.insert(&member(1)).await.unwrap();
    let taken = Member { email: Some("1+x@høi".to_owned()), ..member(2) };
    for rejected in [repo.insert(&taken).await, repo.upsert(&taken).await] {
        let Err(Error::UniqueViolation { unique, key, .. }) = rejected else {
            panic!("{rejected:?}");
        };
        assert_eq!((unique, key.as_str()), ("email", "UNQ:email:1+x@høi"));
    }
    assert_eq!(keys(&subject).await.len(), 4);

    // The value goes with the entity that has it.
    let mut first = repo.load(Member::partition(CLUB).by_id().id(1)).await.unwrap().one().unwrap();
    first.email = None;
    repo.save(first).await.unwrap();
    repo.insert(&taken).await.unwrap();
    let again = repo.insert(&taken).await;
    assert!(matches!(again, Err(Error::AlreadyExists(_))), "{again:?}");
}

pub async fn patch_every_copy(subject: Subject) {
    let repo = members(&subject);
    repo.insert(&member(1)).await.unwrap();
    let key = Member::partition(CLUB).by_id().id(1);
    let etag = repo.merge(&key, MemberPatch::default().fee(4.5).joined(7)).await.unwrap();
    let stored = repo.load(&key).await.unwrap().one().unwrap();
    assert_eq!((stored.fee, stored.joined, stored.etag()), (4.5, 7, &etag));
    let copy = repo.get(Member::partition(CLUB).by_name().name("O'Brien 1").id(1)).await.unwrap();
    assert_eq!(copy.as_ref(), Some(&*stored));
    let board = subject.dynamic().get(CLUB, "B:00001").await.unwrap().unwrap();
    assert_eq!(board.properties.len(), 2);
    assert_eq!(board.properties["Fee"], 4.5.into());
    let absent = repo.merge(Member::partition(CLUB).by_id().id(2), MemberPatch::default().fee(1.0));
    assert!(matches!(absent.await, Err(Error::NotFound(_))));
}

pub async fn patch_one_row_blindly(subject: Subject) {
    let repo = clubs(&subject);
    let key = Club::partition(CLUB).row();
    repo.merge(&key, ClubPatch::default().visits_at(3, 0.5)).or_insert().await.unwrap();
    repo.merge(&key, ClubPatch::default().visits_at(11, -0.0)).await.unwrap();
    let club = repo
        .update(&key, |club| club.members = Some(club.members.unwrap_or(4_000_000_000) + 1))
        .await
        .unwrap();
    let stored = repo.load(&key).await.unwrap().one().unwrap();
    assert_eq!(stored, club);
    assert_eq!((stored.visits[3], stored.members), (Some(0.5), Some(4_000_000_001)));
    assert_eq!(stored.visits.iter().flatten().count(), 2);
    repo.save(club).await.unwrap();
}

pub async fn take_a_star_for_no_version(subject: Subject) {
    let repo = clubs(&subject);
    let club = Club { club: CLUB.into(), members: Some(1), visits: [None; 12] };
    repo.insert(&club).await.unwrap();
    let refused = repo.replace(&Club { members: Some(2), ..club.clone() }, &ETag::new("*")).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    assert_eq!(repo.get(Club::partition(CLUB).row()).await.unwrap(), Some(club));
}

pub async fn merge_entities_in(subject: Subject) {
    let repo = members(&subject);
    repo.insert(&member(1)).await.unwrap();
    let moved = Member { name: "Ann".to_owned(), email: None, ..member(1) };
    repo.insert_or_merge(&moved).await.unwrap();
    let stored = repo.get(Member::partition(CLUB).by_name().name("Ann").id(1)).await.unwrap();
    assert_eq!(stored.unwrap().email, member(1).email);
    assert_eq!(keys(&subject).await.len(), 4);
}

pub async fn commit_batches_whole_or_not_at_all(subject: Subject) {
    let (members, clubs) = (members(&subject), clubs(&subject));
    let partition = Club::partition(CLUB);
    let club = Club { club: CLUB.to_owned(), members: Some(2), visits: [None; 12] };
    let transaction =
        clubs.transaction(&partition).insert(&club).insert(&member(1)).insert(&member(2));
    let etags = transaction.commit().await.unwrap();
    assert!(etags.iter().all(Option::is_some));
    let before = keys(&subject).await;
    assert_eq!(before.len(), 9);

    let mut stored = clubs.load(partition.row()).await.unwrap().one().unwrap();
    assert_eq!(etags[0].as_ref(), Some(stored.etag()));
    stored.members = Some(3);
    let taken = Member { email: member(2).email, ..member(3) };
    let transaction = clubs.transaction(&partition).save(&mut stored).insert(&taken);
    let rejected = transaction.commit().await.unwrap_err();
    let Error::UniqueViolation { rejection, .. } = &rejected else { panic!("{rejected}") };
    assert_eq!((rejection.entity, rejection.operation), ("Member", Some((2, "insert"))));
    assert_eq!(keys(&subject).await, before);

    let first = members.load(Member::partition(CLUB).by_id().id(1)).await.unwrap().one().unwrap();
    clubs.transaction(&partition).save(&mut stored).delete(first).commit().await.unwrap();
    assert_eq!(keys(&subject).await.len(), 5);
    stored.members = Some(1);
    clubs.save(stored).await.unwrap();
}

pub async fn read_mixed_partitions(subject: Subject) {
    let (members, clubs) = (members(&subject), clubs(&subject));
    let club = Club { club: CLUB.to_owned(), members: Some(2), visits: [None; 12] };
    clubs.insert(&club).await.unwrap();
    members.insert_many([member(2), member(1)]).await.all().unwrap();
    let table = subject.table.clone();
    let entries = subject.tables().union_in::<Entry>(table, Club::partition(CLUB)).collect().await;
    assert_eq!(
        entries.unwrap(),
        [Entry::Club(club), Entry::Member(member(1)), Entry::Member(member(2))]
    );
}

pub async fn mend_what_others_broke(subject: Subject) {
    let repo = members(&subject);
    repo.insert_many((0..30).map(member)).await.all().unwrap();
    let partition = Member::partition(CLUB);
    let sound = repo.verify(&partition).await.unwrap();
    assert!(sound.findings.is_empty(), "{sound:?}");

    let table = subject.dynamic();
    let row = |row_key: &str| DynamicEntity::new(CLUB, row_key);
    table.delete(&row("N:O'Brien 3__00003")).await.unwrap();
    table.merge(&row("B:00004").with("Fee", 9.0)).await.unwrap();
    table.merge(&row("B:00005").with("Joined", 1_i64)).await.unwrap();
    table.delete(&row("M:00006")).await.unwrap();
    table.delete(&row("UNQ:email:7+x@høi")).await.unwrap();

    let broken = repo.verify(&partition).await.unwrap();
    // The entity that lost its canonical row leaves two index rows and a guard behind.
    assert_eq!(broken.findings.len(), 7, "{broken:?}");
    let report = repo.repair(broken.findings).await;
    assert!(report.failures.is_empty(), "{report:?}");
    let mended = repo.verify(&partition).await.unwrap();
    assert!(mended.findings.is_empty(), "{mended:?}");
    assert_eq!(keys(&subject).await.len(), 29 * 4);
    assert_eq!(
        repo.get(partition.by_name().name("O'Brien 3").id(3)).await.unwrap(),
        Some(member(3))
    );
}

pub async fn rewrite_what_their_type_has_outgrown(subject: Subject) {
    let old = subject.tables().repo_in::<Trophy>(subject.table.clone());
    let repo = subject.tables().repo_in::<NewTrophy>(subject.table.clone());
    for year in 0..30 {
        let trophy = Trophy { club: CLUB.into(), year, winner: "O'Brien".into() };
        old.insert(&trophy).await.unwrap();
    }
    let partition = NewTrophy::partition(CLUB);
    assert_eq!(repo.backfill(&partition).await.all().unwrap().rows, 30);
    assert_eq!(repo.verify(&partition).await.unwrap().findings, []);
    let read = repo.list(&partition).collect().await.unwrap();
    let done = repo.rewrite_partition(&partition).await;
    assert!(done.skipped.is_empty(), "{done:?}");
    // The backfill has stored the partial copies in the new form.
    let done = done.all().unwrap();
    assert_eq!((done.entities, done.rows), (30, 60));
    assert_eq!(repo.rewrite_partition(&partition).await.all().unwrap().rows, 0);
    assert_eq!(repo.list(&partition).collect().await.unwrap(), read);
    assert_eq!(repo.list(partition.latest()).count().await.unwrap(), 30);
    for row in subject.dynamic().list(CLUB, ..).collect().await.unwrap() {
        assert_eq!(row.properties.get("Sport"), Some(&"ski".into()), "{}", row.row_key);
    }
    assert_eq!(repo.verify(&partition).await.unwrap().findings, []);
}

pub async fn replace_what_was_stored_with_fewer_rows(subject: Subject) {
    const { assert!(Trophy::KEYS_FOLLOW_CANONICAL) };
    let old = subject.tables().repo_in::<OldTrophy>(subject.table.clone());
    let repo = subject.tables().repo_in::<Trophy>(subject.table.clone());
    let trophy = |year, winner: &str| {
        let (club, winner) = (CLUB.to_owned(), winner.to_owned());
        Trophy { club, year, winner }
    };
    let mut etags = Vec::new();
    for year in [2023, 2024] {
        let Trophy { club, winner, .. } = trophy(year, "Ann");
        etags.push(old.insert(&OldTrophy { club, year, winner }).await.unwrap());
    }
    repo.replace(&trophy(2023, "Bea"), &etags[0]).await.unwrap();
    repo.force_replace(&trophy(2024, "Cem")).await.unwrap();
    let partition = Trophy::partition(CLUB);
    let latest = repo.list(partition.latest()).collect().await.unwrap();
    assert_eq!(latest, [trophy(2024, "Cem"), trophy(2023, "Bea")]);

    // An entity that was never stored, or has changed, is not replaced, and leaves no row.
    let absent = repo.force_replace(&trophy(2025, "Dan")).await;
    assert!(matches!(absent, Err(Error::NotFound(_))), "{absent:?}");
    let stale = repo.replace(&trophy(2023, "Dan"), &etags[0]).await;
    assert!(matches!(stale, Err(Error::Conflict(_))), "{stale:?}");
    assert_eq!(repo.list(partition.latest()).collect().await.unwrap(), latest);
    let sound = repo.verify(&partition).await.unwrap();
    assert_eq!((sound.entities, sound.findings.len()), (2, 0), "{sound:?}");
}

/// A minute of a meeting. Its key takes nine bytes of an address for each character.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "clubs", partition = "{club}", row = "{title}")]
struct Minute {
    #[table(key_only)]
    club: String,
    #[table(key_only)]
    title: String,
    text: String,
}

pub async fn fill_transactions_up_to_4_mib(subject: Subject) {
    let minutes: Repo<Minute> = subject.tables().repo_in(subject.table.clone());
    let text = "é".repeat(19_000);
    let minute = |number: u32| {
        let title = format!("{number:03}{}", "好".repeat(500));
        Minute { club: CLUB.to_owned(), title, text: text.clone() }
    };
    let written = minutes.upsert_many((0..250).map(minute)).await.all().unwrap();
    assert_eq!((written.entities, written.requests), (250, 3));
    assert_eq!(minutes.list(Minute::partition(CLUB)).count().await.unwrap(), 250);
}

pub async fn swap_unique_values_and_keys(subject: Subject) {
    let repo = members(&subject);
    let partition = Member::partition(CLUB);
    let mut one = repo.insert_loaded(&member(1)).await.unwrap();
    let mut two = repo.insert_loaded(&member(2)).await.unwrap();
    std::mem::swap(&mut one.email, &mut two.email);
    let both = repo.transaction(&partition).save(&mut one).save(&mut two);
    both.commit().await.unwrap();
    (one.id, two.id) = (2, 1);
    let both = repo.transaction(&partition).save(&mut one).save(&mut two);
    both.commit().await.unwrap();
    assert_eq!(repo.reload(&one).await.unwrap(), one);
    assert_eq!(repo.reload(&two).await.unwrap(), two);
    let sound = repo.verify(&partition).await.unwrap();
    assert_eq!((sound.entities, sound.findings.len()), (2, 0), "{sound:?}");

    let replaced = Member { name: "New".to_owned(), ..(*one).clone() };
    let again = repo.transaction(&partition).delete(one).insert(&replaced);
    let etags = again.commit().await.unwrap();
    let stored = repo.reload(&replaced).await.unwrap();
    assert_eq!((etags[0].as_ref(), etags[1].as_ref()), (None, Some(stored.etag())));
    assert_eq!(*stored, replaced);
    // One of the two is stale now: nothing is swapped.
    let mut stale = two.clone();
    repo.update(two.key(), |two| two.fee = 9.0).await.unwrap();
    let mut stored = stored;
    let before = keys(&subject).await;
    std::mem::swap(&mut stored.email, &mut stale.email);
    let both = repo.transaction(&partition).save(&mut stored).save(&mut stale).commit().await;
    assert!(matches!(both, Err(Error::Conflict(_))), "{both:?}");
    assert_eq!(keys(&subject).await, before);
    let sound = repo.verify(&partition).await.unwrap();
    assert!(sound.findings.is_empty(), "{sound:?}");
}

pub async fn depend_on_what_a_transaction_reads(subject: Subject) {
    let (members, clubs) = (members(&subject), clubs(&subject));
    let club = Club { club: CLUB.to_owned(), members: Some(0), visits: [None; 12] };
    let first = clubs.insert(&club).await.unwrap();
    let join = async |id| {
        let joined = clubs.transaction_with(club.partition(), async |tx| {
            let mut club = tx.load(club.key()).await?.unwrap();
            let count = club.members.unwrap_or_default() + 1;
            club.members = Some(count);
            tx.save(club);
            tx.insert(&member(id));
            Ok(count)
        });
        joined.await.unwrap()
    };
    let joined = futures_util::future::join_all((1..=6).map(join)).await;
    assert_eq!(joined.iter().sum::<u32>(), 21);
    assert_eq!(clubs.reload(&club).await.unwrap().members, Some(6));

    // What is only read is required.
    let rules = clubs.transaction_with(club.partition(), async |tx| {
        let read = tx.get(member(1).key()).await?;
        tx.delete(tx_member(&members, 2).await?);
        Ok(read.is_some())
    });
    assert!(rules.await.unwrap());
    assert_eq!(keys(&subject).await.len(), 1 + 5 * 4);
    let stale = clubs.delete_if(club.key(), &first).await;
    assert!(matches!(stale, Err(Error::Conflict(_))), "{stale:?}");
    let patch = || ClubPatch::default().members(7_u32);
    let stale = clubs.merge(club.key(), patch()).if_match(&first).await;
    assert!(matches!(stale, Err(Error::Conflict(_))), "{stale:?}");
    let current = clubs.reload(&club).await.unwrap();
    let newer = clubs.merge(club.key(), patch()).if_match(current.etag()).await.unwrap();
    clubs.delete_if(club.key(), &newer).await.unwrap();
    let found = members.load_many([member(1).key(), member(2).key()]).await.unwrap();
    assert_eq!(found.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false]);
    members.delete_if(member(1).key(), found[0].as_ref().unwrap().etag()).await.unwrap();
    let back = members.update(member(1).key(), |_| ()).or_insert_with(|| member(1));
    assert_eq!(*back.await.unwrap(), member(1));
    members.delete_by_key(member(1).key()).await.unwrap();
    let absent = members.delete_by_key(member(1).key()).await;
    assert!(matches!(absent, Err(Error::NotFound(_))), "{absent:?}");
}

pub async fn require_what_others_may_delete(subject: Subject) {
    let (members, clubs) = (members(&subject), clubs(&subject));
    let club = Club { club: CLUB.to_owned(), members: None, visits: [None; 12] };
    let loaded = clubs.insert_loaded(&club).await.unwrap();
    let first = members.insert_loaded(&member(1)).await.unwrap();
    let before = keys(&subject).await;
    let require = async || {
        clubs.transaction(club.partition()).require(&loaded).insert(&member(2)).commit().await
    };

    clubs.force_delete(&club).await.unwrap();
    let gone = require().await;
    let Err(Error::NotFound(rejection)) = gone else { panic!("{gone:?}") };
    assert_eq!((rejection.entity, &*rejection.row_key), ("Club", "CLUB"));
    assert!(keys(&subject).await.iter().eq(before.iter().filter(|key| **key != "CLUB")));
    members.force_delete(&*first).await.unwrap();
    let write = members.transaction(first.partition()).insert(&member(2)).require(&first);
    let gone = write.commit().await;
    let Err(Error::NotFound(rejection)) = gone else { panic!("{gone:?}") };
    assert_eq!((rejection.entity, &*rejection.row_key), ("Member", "M:00001"));
    assert_eq!(keys(&subject).await, [""; 0]);

    // Another one in its place is another version.
    clubs.insert(&club).await.unwrap();
    let stale = require().await;
    assert!(matches!(stale, Err(Error::Conflict(_))), "{stale:?}");
    assert_eq!(keys(&subject).await, ["CLUB"]);
}

async fn tx_member(members: &Repo<Member>, id: u32) -> table_orm::Result<Loaded<Member>> {
    members.reload(&member(id)).await
}
