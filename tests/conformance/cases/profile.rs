use super::types::extremes;
use crate::subject::Subject;
use table_orm::profile::ProfileReport;
use table_orm::repo::Table;
use table_orm::{DynamicEntity, ScanPermit, TableName, Tables};

fn rows() -> Vec<DynamicEntity> {
    let more = (0..1100).map(|row| {
        DynamicEntity::new(format!("p{}", row % 7), format!("ROW:{row:05}")).with("N", row)
    });
    let mut hard = extremes();
    hard.row_key = "it's 100% \u{1F3C3}".to_owned();
    more.chain([hard, DynamicEntity::new("\u{1F3C3}", "")]).collect()
}

async fn profile(table: &Table) -> ProfileReport {
    table.insert_many(rows()).await.all().unwrap();
    table.profile(ScanPermit::because("test")).await.unwrap()
}

pub async fn counts_rows_and_their_sizes_alike_in_every_store(subject: Subject) {
    let found = profile(&subject.dynamic()).await;
    let memory = Tables::in_memory().unwrap();
    let name = TableName::new("things").unwrap();
    memory.create(&name).await.unwrap();
    let expected = profile(&memory.table(name)).await;
    assert_eq!((found.rows, found.unreadable), (1102, 0));
    // A store may drop the sign of a zero, which changes no count.
    let properties = |report: &ProfileReport| -> Vec<_> {
        let all = report.properties.iter();
        all.map(|one| (one.name.clone(), one.rows, one.bytes, one.types.clone(), one.values))
            .collect()
    };
    assert_eq!(properties(&found), properties(&expected));
    assert_eq!((found.partitions, found.sizes), (expected.partitions, expected.sizes));
    assert!(found.oldest.is_some() && found.oldest <= found.newest);
}
