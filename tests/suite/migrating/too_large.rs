//! An entity whose new rows do not fit a transaction.

use super::types::permit;
use std::collections::BTreeMap;
use table_orm::model::Edm;
use table_orm::{Error, TableEntity, Tables};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "scans", partition = "{shop}", row = "S:{n:05}")]
struct ScanV1 {
    shop: String,
    n: u32,
    #[table(chunked)]
    picture: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "scans2", partition = "{shop}__{n}", migrate_from = ScanV1)]
#[row(by_number, key = "S:{n:05}")]
#[row(again, key = "A:{n:05}", allow_duplicate)]
#[row(and_again, key = "B:{n:05}", allow_duplicate)]
#[row(for_ever, key = "C:{n:05}", allow_duplicate)]
struct Scan {
    shop: String,
    n: u32,
    #[table(chunked)]
    picture: Vec<u8>,
}

impl From<ScanV1> for Scan {
    fn from(ScanV1 { shop, n, picture }: ScanV1) -> Self {
        Self { shop, n, picture }
    }
}

impl From<Scan> for ScanV1 {
    fn from(Scan { shop, n, picture }: Scan) -> Self {
        Self { shop, n, picture }
    }
}

#[tokio::test]
async fn an_entity_whose_new_rows_do_not_fit_stays_in_its_old_form() {
    let tables = Tables::in_memory().unwrap();
    let old = tables.repo::<ScanV1>();
    old.create_table().await.unwrap();
    let scan = |n, bytes| ScanV1 { shop: "oslo".into(), n, picture: vec![7; bytes] };
    old.insert(&scan(1, 900_000)).await.unwrap();
    old.insert(&scan(2, 9)).await.unwrap();
    let scans = tables.migrating::<Scan>().unwrap();
    scans.create_table_if_not_exists().await.unwrap();
    let plan = scans.migrate(&permit()).plan().await.unwrap();
    let [unmovable] = &plan.unmovable[..] else { panic!("{plan:?}") };
    assert_eq!((plan.entities, &*unmovable.row_key), (1, "S:00001"));
    assert!(matches!(unmovable.reason, Error::TooLarge(_)), "{}", unmovable.reason);
    assert!(plan.to_string().contains("\ncannot move \"oslo\", \"S:00001\": "), "{plan}");
    let report = scans.migrate(&permit()).await;
    assert_eq!(report.progress.moved, 1);
    let [skipped] = &report.skipped[..] else { panic!("{report:?}") };
    assert_eq!((&*skipped.row_key, &report.ended.is_none()), ("S:00001", &true));
    assert!(matches!(skipped.reason, Error::TooLarge(_)), "{}", skipped.reason);
    let mut held =
        scans.load(Scan::partition("oslo", 1_u32).by_number().n(1_u32)).await.unwrap().unwrap();
    held.picture[0] = 8;
    assert!(matches!(scans.save(&mut held).await, Err(Error::TooLarge(_))));
    // Nothing is on its way.
    assert_eq!(
        old.get(ScanV1::partition("oslo").row().n(1_u32)).await.unwrap().unwrap(),
        scan(1, 900_000)
    );
    let report = scans.verify_migrated(&permit()).await.unwrap();
    assert_eq!((report.unmoved.len(), report.in_transit.len(), report.left_over.len()), (1, 0, 0));
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "crates", partition = "{shop}", row = "C:{n:05}")]
struct CrateV1 {
    shop: String,
    n: u32,
    #[table(flatten)]
    labels: BTreeMap<String, Edm>,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "crates2", partition = "{shop}__{n}", row = "C:{n:05}", migrate_from = CrateV1)]
struct Crate {
    shop: String,
    n: u32,
    #[table(flatten)]
    labels: BTreeMap<String, Edm>,
}

impl From<CrateV1> for Crate {
    fn from(CrateV1 { shop, n, labels }: CrateV1) -> Self {
        Self { shop, n, labels }
    }
}

impl From<Crate> for CrateV1 {
    fn from(Crate { shop, n, labels }: Crate) -> Self {
        Self { shop, n, labels }
    }
}

#[tokio::test]
async fn an_entity_with_no_room_for_what_a_parcel_says_is_named_by_the_dry_run() {
    let tables = Tables::in_memory().unwrap();
    let old = tables.repo::<CrateV1>();
    old.create_table().await.unwrap();
    // A parcel has two properties more, of at most 252.
    for (n, labels) in [(1, 248), (2, 249), (3, 250)] {
        let labels = (0..labels).map(|label| (format!("L{label}"), Edm::from(1_i32))).collect();
        old.insert(&CrateV1 { shop: "oslo".into(), n, labels }).await.unwrap();
    }
    let crates = tables.migrating::<Crate>().unwrap();
    crates.create_table_if_not_exists().await.unwrap();
    let plan = crates.migrate(&permit()).plan().await.unwrap();
    let unmovable: Vec<_> = plan.unmovable.iter().map(|one| &*one.row_key).collect();
    assert_eq!((plan.entities, unmovable), (1, vec!["C:00002", "C:00003"]));
    let report = crates.migrate(&permit()).await;
    let skipped: Vec<_> = report.skipped.iter().map(|one| &*one.row_key).collect();
    assert_eq!((report.progress.moved, skipped), (1, vec!["C:00002", "C:00003"]));
    let verified = crates.verify_migrated(&permit()).await.unwrap();
    assert_eq!((verified.unmoved.len(), verified.in_transit.len()), (2, 0));
}
