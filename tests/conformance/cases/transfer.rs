use super::types::extremes;
use crate::subject::Subject;
use table_orm::model::Edm;
use table_orm::{DynamicEntity, ScanPermit};

/// Text whose every key and value is hard to carry.
fn rows() -> Vec<DynamicEntity> {
    let more = (0..1200).map(|row| DynamicEntity::new("big", format!("{row:05}")).with("N", row));
    let mut hard = extremes().with("DoubleNaN", f64::NAN).with("DoubleMinusZero", -0.0);
    hard.row_key = "it's 100% \u{1F3C3}".to_owned();
    more.chain([hard, DynamicEntity::new("empty", "")]).collect()
}

async fn exported(subject: &Subject, is_csv: bool) -> Vec<u8> {
    let permit = || ScanPermit::because("test");
    let export = || subject.tables().export(subject.table.clone(), permit());
    let export = match is_csv {
        false => export(),
        true => export().csv(export().columns().await.unwrap()),
    };
    let mut text = Vec::new();
    export.write_to(&mut text).await.unwrap();
    text
}

pub async fn out_and_back_changes_no_bit(subject: Subject) {
    let table = subject.dynamic();
    // Azurite takes values of 64 KiB from an insert, not from an insert-or-replace.
    table.insert_many(rows()).await.all().unwrap();
    for is_csv in [false, true] {
        let text = exported(&subject, is_csv).await;
        let stored = table.scan(ScanPermit::because("test")).collect().await.unwrap();
        table.delete_many(stored).await.all().unwrap();
        let import = subject.tables().import(subject.table.clone()).insert_only();
        let import = if is_csv { import.csv() } else { import };
        assert_eq!(import.read_from(&*text).await.unwrap().rows, 1202);
        assert_eq!(exported(&subject, is_csv).await, text);
    }
    let hard = rows().remove(1200);
    let mut read = table.get("p", &hard.row_key).await.unwrap().unwrap().properties;
    let mut written = hard.properties;
    let nan = read.remove("DoubleNaN");
    assert!(matches!(nan, Some(Edm::Double(nan)) if nan.is_nan()));
    written.remove("DoubleNaN");
    // Equal to zero of either sign, because Azurite drops it.
    assert_eq!(read, written);
}

pub async fn of_raw_rows_changes_no_bit(subject: Subject) {
    let table = subject.dynamic();
    // Azurite takes values of 64 KiB from an insert, not from an insert-or-replace.
    let mut rows = rows();
    rows[1200].properties.remove("StringLong");
    table.insert_many(rows).await.all().unwrap();
    let text = exported(&subject, false).await;
    let scan = table.scan(ScanPermit::because("test"));
    let raw = scan.clone().raw().collect().await.unwrap();
    let stored = scan.collect().await.unwrap();
    table.delete_many(stored).await.all().unwrap();
    // The second time, the rows are there.
    for _ in 0..2 {
        let written = table.insert_or_replace_raw(raw.clone()).await.all().unwrap();
        assert_eq!(written.rows, 1202);
        assert_eq!(exported(&subject, false).await, text);
    }
}
