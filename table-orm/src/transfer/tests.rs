use super::*;
use crate::dose::dose;
use crate::entity::{DynamicEntity, RowHead};
use crate::error::Error;
use crate::model::{DateTime, Edm, TableName};
use crate::query::ScanPermit;
use crate::tables::Tables;
use proptest::prelude::*;
use std::io;
use uuid::Uuid;

fn permit() -> ScanPermit {
    ScanPermit::because("test")
}

fn name() -> TableName {
    TableName::new("results").unwrap()
}

async fn tables(rows: impl IntoIterator<Item = DynamicEntity>) -> Tables {
    let tables = Tables::in_memory().unwrap();
    tables.create(&name()).await.unwrap();
    let rows: Vec<_> = rows.into_iter().collect();
    tables.table(name()).insert_or_replace_many(rows).await.all().unwrap();
    tables
}

async fn exported(tables: &Tables) -> String {
    let mut text = Vec::new();
    tables.export(name(), permit()).write_to(&mut text).await.unwrap();
    String::from_utf8(text).unwrap()
}

fn edm() -> impl Strategy<Value = Edm> {
    let text = prop_oneof!["", ".{0,9}", "[\"',\r\n\u{1F3C3}\0 ]{0,9}"];
    prop_oneof![
        text.prop_map(Edm::String),
        any::<i32>().prop_map(Edm::Int32),
        prop_oneof![any::<i64>(), Just(i64::MIN), Just(i64::MAX), Just(3)].prop_map(Edm::Int64),
        prop_oneof![any::<f64>(), Just(f64::NAN), Just(-0.0), Just(3.0), Just(f64::INFINITY)]
            .prop_map(Edm::Double),
        any::<bool>().prop_map(Edm::Boolean),
        (DateTime::MIN.ticks()..=DateTime::MAX.ticks())
            .prop_map(|ticks| Edm::DateTime(DateTime::from_ticks(ticks).unwrap())),
        any::<u128>().prop_map(|bits| Edm::Guid(Uuid::from_u128(bits))),
        prop::collection::vec(any::<u8>(), 0..9).prop_map(Edm::Binary),
    ]
}

fn row() -> impl Strategy<Value = DynamicEntity> {
    let key = "[ -\"$-.0->@-\\[\\]-~\u{1F3C3}]{0,5}";
    let properties = prop::collection::btree_map("[A-C]", edm(), 0..4);
    (key, key, properties).prop_map(|(partition_key, row_key, properties)| DynamicEntity {
        partition_key,
        row_key,
        properties,
        ..DynamicEntity::default()
    })
}

/// A value, with the bits of a double that is a number.
type Bits = (String, String, Option<u64>);

/// With the bits of doubles, so that NaN is equal and minus zero is not zero.
fn bits(row: &DynamicEntity) -> (String, String, Vec<Bits>) {
    let properties = row.properties.iter().map(|(name, value)| match value {
        Edm::Double(double) if double.is_nan() => (name.clone(), "NaN".to_owned(), None),
        Edm::Double(double) => (name.clone(), String::new(), Some(double.to_bits())),
        value => (name.clone(), format!("{value:?}"), None),
    });
    (row.partition_key.clone(), row.row_key.clone(), properties.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(256, 4096)))]

    #[test]
    fn every_row_is_one_line_of_json_and_comes_back_bit_by_bit(row in row()) {
        let json = row.to_json().unwrap();
        prop_assert!(!json.contains('\n'));
        prop_assert_eq!(bits(&DynamicEntity::from_json(&json).unwrap()), bits(&row));
    }

    #[test]
    fn rows_come_back_from_csv_bit_by_bit(rows in prop::collection::vec(row(), 1..6)) {
        let columns: Columns = rows.iter().collect();
        prop_assert_eq!(&columns.to_string().parse::<Columns>().unwrap(), &columns);
        for row in &rows {
            let record = columns.record(row).unwrap();
            prop_assert_eq!(bits(&columns.row(&record).unwrap()), bits(row));
        }
    }

    #[test]
    fn any_line_is_a_row_or_an_error(line in "\\PC{0,40}", json in any::<bool>()) {
        let columns: Columns = [DynamicEntity::new("", "").with("A", 1)].iter().collect();
        let read = match json {
            true => DynamicEntity::from_json(&line).map(|row| row.to_json().is_ok()).ok(),
            false => columns.row(&line).ok().map(|row| columns.record(&row).is_ok()),
        };
        prop_assert_ne!(read, Some(false));
    }

    #[test]
    fn a_text_of_rows_is_imported_as_those_rows(
        rows in prop::collection::vec(row(), 0..6),
        is_csv in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let source = tables(rows).await;
            let target = tables([]).await;
            let (mut export, mut import) = (source.export(name(), permit()), target.import(name()));
            if is_csv {
                let columns = source.export(name(), permit()).columns().await.unwrap();
                (export, import) = (export.csv(columns), import.csv());
            }
            let mut text = Vec::new();
            export.write_to(&mut text).await.unwrap();
            import.read_from(&*text).await.unwrap();
            assert_eq!(exported(&target).await, exported(&source).await);
        });
    }
}

#[test]
fn a_number_that_no_double_can_hold_is_refused_and_not_infinity() {
    let columns: Columns = "PartitionKey,RowKey,A:Edm.Double".parse().unwrap();
    for text in ["1e400", "-1e400", "inf", "INF", "infinity", "nan", "-nan", "-NaN", "1e", "x"] {
        assert!(columns.row(&format!("p,r,{text}")).is_err(), "{text}");
    }
    for (text, double) in [("Infinity", f64::INFINITY), ("1e300", 1e300), ("1e-400", 0.0)] {
        let row = columns.row(&format!("p,r,{text}")).unwrap();
        assert_eq!(row.properties["A"], Edm::Double(double), "{text}");
    }
}

#[tokio::test]
async fn an_export_goes_on_behind_any_row() {
    let rows = (0..60).map(|at| DynamicEntity::new(format!("p{}", at % 7), format!("{at:03}")));
    let source = tables(rows).await;
    let whole = exported(&source).await;
    let mut so_far = String::new();
    for line in whole.split_inclusive('\n') {
        so_far.push_str(line);
        let row = DynamicEntity::from_json(line).unwrap();
        let last = RowHead { partition_key: row.partition_key, row_key: row.row_key };
        let mut rest = Vec::new();
        let export = source.export(name(), permit()).after(last);
        export.scan(|scan| scan.page_size(7)).write_to(&mut rest).await.unwrap();
        assert_eq!(so_far.clone() + str::from_utf8(&rest).unwrap(), whole);
    }
}

#[tokio::test]
async fn an_export_within_bounds_goes_on_within_them() {
    let rows = (0..60).map(|at| DynamicEntity::new(format!("p{}", at % 7), format!("{at:03}")));
    let source = tables(rows).await;
    let export = |after: &str| {
        let last = RowHead { partition_key: after.to_owned(), row_key: "040".to_owned() };
        let range = "p2".to_owned().."p4".to_owned();
        let export = source.export(name(), permit()).after(last);
        export.scan(|scan| scan.partition_range(range).row_range("030".to_owned()..))
    };
    let mut found = Vec::new();
    for after in ["p1", "p2", "p3", "p4"] {
        found.push(export(after).write_to(io::sink()).await.unwrap().rows);
    }
    // Of p2: 30, 37, 44, 51, 58; of p3: 31, 38, 45, 52, 59.
    assert_eq!(found, [10, 8, 3, 0]);
}

#[tokio::test]
async fn refused_rows_are_reported_with_their_lines_and_the_others_are_written() {
    let target = tables([DynamicEntity::new("p", "2").with("Old", true)]).await;
    let text = "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\r\n\n\
                {\"PartitionKey\":\"p\",\"RowKey\":\"2\"}\n\
                {\"PartitionKey\":\"p\"}\n\
                not json\n\
                {\"PartitionKey\":\"p\",\"RowKey\":\"6\",\"N@odata.type\":\"Edm.Int64\",\"N\":\"x\"}\n\
                {\"PartitionKey\":\"p\",\"RowKey\":\"a/b\"}\n\
                {\"PartitionKey\":\"p\",\"RowKey\":\"8\"}";
    let mut refused = Vec::new();
    let import = target.import(name()).insert_only();
    let import = import.on_refused(|row| refused.push((row.line, row.key.map(|key| key.row_key))));
    let imported = import.read_from(text.as_bytes()).await.unwrap();
    assert_eq!((imported.rows, imported.refused), (2, 5));
    refused.sort();
    let key = |key: &str| Some(key.to_owned());
    assert_eq!(refused, [(3, key("2")), (4, None), (5, None), (6, None), (7, key("a/b"))]);
    let stored = target.table(name()).get("p", "2").await.unwrap().unwrap();
    assert!(stored.properties.contains_key("Old"), "insert_only replaces nothing");

    let stopped = target.import(name()).read_from(text.as_bytes()).await.unwrap_err();
    let Error::Transfer(TransferError::Refused { line, rows, .. }) = &stopped else {
        panic!("{stopped}")
    };
    assert_eq!((*line, *rows), (4, 2));
}

#[tokio::test]
async fn a_missing_table_ends_an_import_that_goes_on_after_refused_rows() {
    let tables = Tables::in_memory().unwrap();
    let text = "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n";
    let import = tables.import(name()).on_refused(|row| panic!("{:?}", row.error));
    let error = import.read_from(text.as_bytes()).await.unwrap_err();
    assert!(matches!(error, Error::TableNotFound(_)), "{error}");
}

#[tokio::test]
async fn records_with_line_ends_in_texts_keep_their_line_numbers() {
    let target = tables([]).await;
    let text = "PartitionKey,RowKey,A:Edm.String,N:Edm.Int32\r\n\
                p,1,\"two\r\nlines, \"\"quoted\"\"\",1\r\n\
                p,2,,x\r\n";
    let mut refused = Vec::new();
    let import = target.import(name()).csv().on_refused(|row| refused.push(row.line));
    import.read_from(text.as_bytes()).await.unwrap();
    assert_eq!(refused, [4]);
    let row = target.table(name()).get("p", "1").await.unwrap().unwrap();
    assert_eq!(row.properties["A"], Edm::from("two\r\nlines, \"quoted\""));
}

#[tokio::test]
async fn a_stray_quote_takes_no_row_after_it_along() {
    for stray in ["5\" disk", "\"5\" disk", "\"5\" \"disk", "5\"", " \"5"] {
        let text = format!(
            "\u{FEFF}\"PartitionKey\",RowKey,S:Edm.String\na,1,ok\na,2,{stray}\na,3,\"o\n\"\"k\"\na,4,ok\n"
        );
        let target = tables([]).await;
        let mut lines = Vec::new();
        let import = target.import(name()).csv().on_refused(|row| lines.push(row.line));
        let imported = import.read_from(text.as_bytes()).await.unwrap();
        assert_eq!((imported.rows, imported.refused), (3, 1), "{stray}");
        assert_eq!(lines, [3], "{stray}");
    }
}

#[tokio::test]
async fn a_quote_that_is_not_closed_is_reported_with_its_lines() {
    let text = "PartitionKey,RowKey,S:Edm.String\na,1,ok\na,2,\"5\na,3,ok\na,4,ok\n";
    let target = tables([]).await;
    let mut refused = Vec::new();
    let import = target.import(name()).csv().on_refused(|row| refused.push(row));
    assert_eq!(import.read_from(text.as_bytes()).await.unwrap().rows, 1);
    let [RefusedRow { line: 3, error, .. }] = &*refused else { panic!("{refused:?}") };
    let is_open = TransferError::OpenQuote { first: 3, last: 5 }.to_string();
    assert_eq!(
        error.to_string(),
        Error::from(TransferError::OpenQuote { first: 3, last: 5 }).to_string()
    );
    assert!(is_open.contains("starts in line 3 has no end at the last line, 5"), "{is_open}");
}

#[tokio::test]
async fn a_property_that_a_line_has_twice_is_refused_with_the_line() {
    for repeated in [
        r#"{"PartitionKey":"p","RowKey":"2","A":1,"A":2}"#,
        r#"{"PartitionKey":"p","RowKey":"2","A":"1","A@odata.type":"Edm.Int64","A@odata.type":"Edm.String"}"#,
        r#"{"PartitionKey":"p","PartitionKey":"q","RowKey":"2"}"#,
    ] {
        let text = format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"1\",\"A\":1}}\n{repeated}\n");
        let (target, mut refused) = (tables([]).await, Vec::new());
        let import = target.import(name()).on_refused(|row| refused.push(row));
        let imported = import.read_from(text.as_bytes()).await.unwrap();
        assert_eq!((imported.rows, imported.refused), (1, 1), "{repeated}");
        let [RefusedRow { line: 2, error, .. }] = &*refused else { panic!("{refused:?}") };
        assert!(error.to_string().contains("is in the row twice"), "{error}");
    }
}

#[test]
fn a_column_that_a_header_has_twice_is_named() {
    let header = "PartitionKey,RowKey,B:Edm.String,A:Edm.Int32,C:Edm.String,A:Edm.Int32";
    let error = header.parse::<Columns>().unwrap_err();
    assert!(matches!(&error, TransferError::RepeatedColumn(name) if name == "A:Edm.Int32"));
    assert!(error.to_string().contains("`A:Edm.Int32`"), "{error}");
    let target = Tables::in_memory().unwrap().import(name()).csv();
    let twice = "PartitionKey,RowKey,A:Edm.Guid,A:Edm.Guid";
    assert!(
        futures_util::FutureExt::now_or_never(target.read_from(twice.as_bytes())).unwrap().is_err()
    );
    assert!("PartitionKey,RowKey,A:Edm.String,A:Edm.Int32".parse::<Columns>().is_ok());
}

#[tokio::test]
async fn an_import_counts_the_partitions_that_an_export_has_counted() {
    let rows = ["a", "b", "c"].into_iter().flat_map(|partition| {
        (0..3).map(move |row| DynamicEntity::new(partition, row.to_string()))
    });
    let source = tables(rows).await;
    let mut text = Vec::new();
    let exported = source.export(name(), permit()).write_to(&mut text).await.unwrap();
    let imported = tables([]).await.import(name()).read_from(&*text).await.unwrap();
    assert_eq!((imported.rows, imported.partitions), (exported.rows, exported.partitions));
    assert_eq!(imported.partitions, 3);
}

#[tokio::test]
async fn an_import_goes_on_behind_any_line() {
    let csv =
        "PartitionKey,RowKey,A:Edm.String\np,1,\"two\nlines\"\n\np,no / key,x\np,2,y\np,3\np,4,z\n";
    let json = "{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\nno row\n\n{\"PartitionKey\":\"p\",\"RowKey\":\"2\"}";
    // The lines on which rows start that are written, or refused.
    let texts = [(csv, true, vec![2, 6, 8], vec![5, 7]), (json, false, vec![1, 4], vec![2])];
    for (text, is_csv, written, bad) in texts {
        let last = text.lines().count() as u64;
        for after in 0..=last {
            let (target, mut refused) = (tables([]).await, Vec::new());
            let import = target.import(name()).on_refused(|row| refused.push(row.line));
            let import = if is_csv { import.csv() } else { import };
            let imported = import.after_line(after).read_from(text.as_bytes()).await.unwrap();
            let left = |lines: &[u64]| lines.iter().filter(|line| **line > after).count() as u64;
            assert_eq!((imported.rows, imported.refused), (left(&written), left(&bad)), "{after}");
            assert_eq!(imported.line, last);
            assert!(refused.iter().all(|line| bad.contains(line)), "{refused:?}");
        }
    }
}

#[tokio::test]
async fn the_line_of_a_progress_has_nothing_left_out_before_it() {
    let line = |at: usize| format!("{{\"PartitionKey\":\"p\",\"RowKey\":\"{at:06}\"}}\n");
    let text: String = (0..25_000).map(line).collect::<String>() + "no row\n";
    let (target, mut lines) = (tables([]).await, Vec::new());
    let import = target.import(name()).on_progress(|done| lines.push((done.line, done.rows)));
    let error = import.read_from(text.as_bytes()).await.unwrap_err();
    assert!(
        matches!(error, Error::Transfer(TransferError::Refused { line: 25_001, .. })),
        "{error}"
    );
    assert_eq!(lines, [(10_000, 10_000), (20_000, 20_000), (25_000, 25_000)]);
}

#[tokio::test]
async fn a_text_may_start_with_the_mark_of_utf_8() {
    let target = tables([]).await;
    let json = "\u{FEFF}{\"PartitionKey\":\"p\",\"RowKey\":\"1\"}\n";
    assert_eq!(target.import(name()).read_from(json.as_bytes()).await.unwrap().rows, 1);
    let csv = "\u{FEFF}\"PartitionKey\",RowKey\np,2\n";
    assert_eq!(target.import(name()).csv().read_from(csv.as_bytes()).await.unwrap().rows, 1);
    let empty = "\u{FEFF}";
    assert_eq!(target.import(name()).read_from(empty.as_bytes()).await.unwrap().rows, 0);
}

#[test]
fn a_header_may_name_any_property() {
    let name = "a,\"b\"\n:c";
    let columns: Columns = [DynamicEntity::new("", "").with(name, 1)].iter().collect();
    assert_eq!(columns.to_string().parse::<Columns>().unwrap(), columns);
}

#[tokio::test]
async fn options_of_the_scan_do_not_change_the_order() {
    let rows = (0..3000).map(|at| DynamicEntity::new(format!("p{}", at % 7), format!("{at:04}")));
    let source = tables(rows).await;
    let export = source.export(name(), permit());
    let export = export.scan(|scan| scan.ordered(false).page_size(9).concurrency(8));
    let mut text = Vec::new();
    export.write_to(&mut text).await.unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), exported(&source).await);
}

/// Each call is interrupted by a signal before it is answered.
struct Interrupted<T>(T, bool);

impl<T> Interrupted<T> {
    fn next(&mut self) -> io::Result<&mut T> {
        self.1 = !self.1;
        if self.1 { Err(io::ErrorKind::Interrupted.into()) } else { Ok(&mut self.0) }
    }
}

impl<R: io::Read> io::Read for Interrupted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.next()?.read(buffer)
    }
}

impl<W: io::Write> io::Write for Interrupted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.next()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.next()?.flush()
    }
}

#[tokio::test]
async fn signals_end_no_transfer() {
    let source = tables([DynamicEntity::new("p", "1")]).await;
    let mut output = Interrupted(Vec::new(), false);
    source.export(name(), permit()).write_to(&mut output).await.unwrap();
    let target = tables([]).await;
    let input = io::BufReader::with_capacity(8, Interrupted(&*output.0, false));
    assert_eq!(target.import(name()).read_from(input).await.unwrap().rows, 1);
}

#[tokio::test]
async fn a_csv_text_without_a_typed_header_is_refused() {
    let target = tables([]).await;
    for header in [
        "",
        "PartitionKey",
        "RowKey,PartitionKey",
        "PartitionKey,RowKey,A",
        "a\",b",
        "PartitionKey,RowKey,A:Edm.Text",
    ] {
        let error = target.import(name()).csv().read_from(header.as_bytes()).await.unwrap_err();
        assert!(matches!(error, Error::Transfer(TransferError::Header(_))), "{header}: {error}");
    }
}

#[tokio::test]
async fn a_row_without_a_column_is_no_silent_loss() {
    let source = tables([DynamicEntity::new("p", "1").with("New", 1)]).await;
    let export = source.export(name(), permit()).csv(Columns::default());
    let error = export.write_to(io::sink()).await.unwrap_err();
    let Error::Transfer(TransferError::Column { property, .. }) = &error else { panic!("{error}") };
    assert_eq!(property, "New");
}

struct FullDisk;

impl io::Write for FullDisk {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Cut<'a>(&'a [u8]);

impl io::Read for Cut<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.is_empty() {
            true => Err(io::ErrorKind::ConnectionReset.into()),
            false => self.0.read(buffer),
        }
    }
}

#[tokio::test]
async fn failures_of_files_are_typed_and_what_came_before_is_kept() {
    let source = tables([DynamicEntity::new("p", "1")]).await;
    let error = source.export(name(), permit()).write_to(FullDisk).await.unwrap_err();
    assert!(matches!(error, Error::Transfer(TransferError::Write { rows: 0, .. })), "{error}");

    let text = exported(&source).await;
    let target = tables([]).await;
    let cut = io::BufReader::new(Cut(text.as_bytes()));
    let error = target.import(name()).read_from(cut).await.unwrap_err();
    assert!(matches!(error, Error::Transfer(TransferError::Read { line: 2, .. })), "{error}");
    assert_eq!(exported(&target).await, text);

    let long = "x".repeat(17 * 1024 * 1024);
    let error = target.import(name()).read_from(long.as_bytes()).await.unwrap_err();
    assert!(matches!(error, Error::Transfer(TransferError::LongLine { line: 1, .. })), "{error}");
}
