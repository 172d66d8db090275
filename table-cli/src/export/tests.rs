use super::*;
use crate::import;
use crate::manifest::Manifest;
use std::future::{pending, poll_fn};
use std::path::Path;
use std::task::Poll;
use table_orm::scan::{Scan, Splitter};
use table_orm::{DynamicEntity, Tables};
use tokio::runtime::Runtime;

#[derive(clap::Parser)]
struct Line<A: clap::Args> {
    #[command(flatten)]
    arguments: A,
}

/// The arguments of a command line.
fn read<A: clap::Args>(text: &[&str]) -> A {
    let line = ["table-orm"].iter().chain(text);
    <Line<A> as clap::Parser>::try_parse_from(line).unwrap().arguments
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    Runtime::new().unwrap().block_on(future)
}

fn export(text: &[&str]) -> Result<(), Failure> {
    wait(run(read(text), pending()))
}

fn import(text: &[&str]) -> Result<(), Failure> {
    wait(import::run(read(text), pending()))
}

/// A folder with a database file, whose table `results` has rows of every type in many partitions.
fn database(rows: usize) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), "source.redb");
    wait(async {
        let tables = Tables::open(&path).unwrap();
        let name = TableName::new("results").unwrap();
        tables.create(&name).await.unwrap();
        let row = |at: usize| {
            DynamicEntity::new(format!("p{:02}", at % 20), format!("{at:06}"))
                .with("Int64", i64::MAX - at as i64)
                .with("Double", if at == 7 { f64::NAN } else { -(at as f64) })
                .with("Empty", "")
                .with("Text", "\"\r\n, \u{1F3C3}")
                .with("Bytes", vec![0_u8; at % 5])
        };
        tables.table(name).insert_many((0..rows).map(row)).await.all().unwrap();
    });
    (folder, path)
}

fn file(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

/// The content of a table, as text.
fn content(database: &str) -> Vec<u8> {
    wait(async {
        let tables = Tables::open(database).unwrap();
        let mut text = Vec::new();
        let export = tables.export(TableName::new("results").unwrap(), permit());
        export.write_to(&mut text).await.unwrap();
        text
    })
}

#[test]
fn every_form_and_compression_brings_a_table_back_bit_by_bit() {
    let (folder, source) = database(1500);
    let mut manifests = Vec::new();
    for name in ["a.jsonl", "a.jsonl.gz", "a.ndjson.zst", "a.csv", "a.csv.gz", "a.csv.zst"] {
        let to = file(folder.path(), name);
        export(&[&source, "results", "--to", &to]).unwrap();
        let manifest = Manifest::of(to.as_ref()).unwrap();
        assert_eq!((manifest.rows, manifest.partitions), (1500, 20));
        assert_eq!((&*manifest.table, &*manifest.selection), ("results", ""));
        manifests.push(manifest.sha256);
        assert!(!output::part_path(to.as_ref()).exists());
        assert!(!output::checkpoint_path(to.as_ref()).exists());
        let target = file(folder.path(), &format!("{name}.redb"));
        import(&[&target, "--from", &to]).unwrap();
        assert_eq!(content(&target), content(&source), "{name}");
    }
    manifests.dedup();
    assert_eq!(manifests.len(), 2, "one text for each form, however it is compressed");
}

#[test]
fn an_export_stopped_again_and_again_becomes_the_same_file() {
    let (folder, source) = database(4000);
    let whole = file(folder.path(), "whole.jsonl");
    export(&[&source, "results", "--to", &whole]).unwrap();
    for name in ["part.jsonl", "part.jsonl.gz", "part.jsonl.zst"] {
        let to = file(folder.path(), name);
        let text = [&source, "results", "--to", &to, "--readers", "2"];
        let mut stops = 0;
        // How often the program asks whether to stop.
        for asked in 0.. {
            let mut left = asked;
            let stop = poll_fn(|_| {
                left -= 1;
                if left < 0 { Poll::Ready(()) } else { Poll::Pending }
            });
            match wait(run(read(&text), stop)) {
                Ok(()) => break,
                Err(failure) if matches!(failure.error(), Some(ExportFailure::Stopped { .. })) => {
                    stops += 1
                }
                Err(failure) => panic!("{failure}"),
            }
            // Bytes that the checkpoint does not know, as a crash leaves them.
            let part = output::part_path(to.as_ref());
            let mut text = std::fs::read(&part).unwrap();
            text.extend(b"{\"Partition");
            std::fs::write(&part, text).unwrap();
            assert!(stops < 1000);
        }
        assert!(stops > 0);
        let [one, other] = [&whole, &to].map(|path| Manifest::of(path.as_ref()).unwrap());
        assert_eq!(
            (one.sha256, one.rows, one.partitions),
            (other.sha256, other.rows, other.partitions)
        );
    }
}

#[test]
fn an_export_killed_behind_any_page_goes_on_behind_what_it_has_saved() {
    let (folder, source) = database(100);
    let whole = file(folder.path(), "whole.csv");
    export(&[&source, "results", "--to", &whole]).unwrap();
    let whole = Manifest::of(whole.as_ref()).unwrap();
    let to = file(folder.path(), "part.csv.zst");
    let arguments: Arguments = read(&[&source, "results", "--to", &to]);
    let form = TextFile::of(&arguments.to).unwrap();
    let job = arguments.job(form).unwrap();
    wait(async {
        let tables = arguments.store.open_to_read(&arguments.table).await.unwrap();
        let small = || {
            let serial = |scan: Scan<DynamicEntity>| scan.page_size(9).split(Splitter::Serial);
            arguments.export(&tables).scan(serial)
        };
        let columns = arguments.export(&tables).columns().await.unwrap();
        for (saved, unsaved) in (0..11).flat_map(|saved| [(saved, 0), (saved, 1)]) {
            let header = Some(columns.to_string());
            let mut output = Output::create(&arguments.to, form, job.clone(), header).unwrap();
            let mut pages = small().csv(columns.clone()).pages();
            for page in 0..saved + unsaved {
                if page == saved {
                    output.save().unwrap();
                }
                output.write(pages.next().await.unwrap().unwrap()).unwrap();
            }
            if unsaved == 0 {
                output.save().unwrap();
            }
            drop(output);

            let mut output = Output::resume(&arguments.to, form, &job).unwrap().unwrap();
            assert_eq!(output.rows(), saved * 9);
            write(small(), &mut output, &Progress::new("", None)).await.unwrap();
            let manifest = output.finish().unwrap();
            let found = (manifest.rows, manifest.partitions, manifest.sha256);
            assert_eq!(found, (100, 20, whole.sha256.clone()), "{saved} {unsaved}");
        }
    });
}

/// Leaves an export that ended after some rows.
fn leave(text: &[&str]) -> PathBuf {
    let arguments: Arguments = read(text);
    let form = TextFile::of(&arguments.to).unwrap();
    wait(async {
        let tables = arguments.store.open_to_read(&arguments.table).await.unwrap();
        let job = arguments.job(form).unwrap();
        let mut small = arguments.export(&tables).scan(|scan| scan.page_size(9));
        let mut header = None;
        if form.form == Form::Csv {
            let columns = arguments.export(&tables).columns().await.unwrap();
            header = Some(columns.to_string());
            small = small.csv(columns);
        }
        let mut output = Output::create(&arguments.to, form, job, header).unwrap();
        output.write(small.pages().next().await.unwrap().unwrap()).unwrap();
        output.save().unwrap();
    });
    arguments.to
}

#[test]
fn an_export_goes_on_only_with_its_own_options_and_file() {
    let (folder, source) = database(100);
    let to = file(folder.path(), "a.jsonl");
    let text = [&*source, "results", "--to", &to];
    let refused = |more: &[&str]| {
        let failure = export(&[&text[..], more].concat()).unwrap_err();
        assert!(matches!(failure.error(), Some(ExportFailure::Checkpoint(_))), "{failure}");
    };
    let path = leave(&text);
    refused(&["--prefix", "p0"]);
    refused(&["--select", "Text"]);
    let (part, checkpoint) = (output::part_path(&path), output::checkpoint_path(&path));
    let written = std::fs::read(&part).unwrap();
    let other = [b"x".as_slice(), &written[1..]].concat();
    for changed in [&written[..40], &*other, b""] {
        std::fs::write(&part, changed).unwrap();
        refused(&[]);
    }
    std::fs::remove_file(&part).unwrap();
    refused(&[]);
    std::fs::write(&checkpoint, "{}").unwrap();
    refused(&[]);
    export(&[&text[..], &["--over"]].concat()).unwrap();
    assert!(!checkpoint.exists());
    let exists = export(&text).unwrap_err();
    assert!(matches!(exists.error(), Some(ExportFailure::Exists(_))), "{exists}");
}

#[test]
fn an_export_that_starts_anew_forgets_the_one_before() {
    let (folder, source) = database(100);
    let to = file(folder.path(), "a.jsonl");
    let path = leave(&[&source, "results", "--to", &to]);
    let arguments: Arguments = read(&[&source, "results", "--to", &to, "--over"]);
    let form = TextFile::of(&path).unwrap();
    drop(Output::create(&path, form, arguments.job(form).unwrap(), None).unwrap());
    assert!(!output::checkpoint_path(&path).exists());
    export(&[&source, "results", "--to", &to]).unwrap();
    assert_eq!(Manifest::of(&path).unwrap().rows, 100);
}

#[test]
fn one_process_at_a_time_writes_an_export() {
    let (folder, source) = database(100);
    let to = file(folder.path(), "a.jsonl");
    let text = [&*source, "results", "--to", &to];
    let arguments: Arguments = read(&text);
    let form = TextFile::of(&arguments.to).unwrap();
    let job = arguments.job(form).unwrap();
    let mut first = Output::create(&arguments.to, form, job, None).unwrap();
    for saves in [false, true] {
        if saves {
            first.save().unwrap();
        }
        let failure = export(&text).unwrap_err();
        assert!(matches!(failure.error(), Some(ExportFailure::Busy(_))), "{failure}");
    }
    drop(first);
    export(&text).unwrap();
    assert_eq!(Manifest::of(&arguments.to).unwrap().rows, 100);
}

#[test]
fn an_export_begins_anew_after_a_row_that_its_header_has_no_column_for() {
    let (folder, source) = database(100);
    let to = file(folder.path(), "a.csv");
    let text = [&*source, "results", "--to", &to];
    let path = leave(&text);
    wait(async {
        let results = Tables::open(&source).unwrap().table(TableName::new("results").unwrap());
        let late = DynamicEntity::new("p99", "1").with("Late", true);
        results.insert(&late).await.unwrap();
    });
    let failure = export(&text).unwrap_err();
    assert!(failure.to_string().contains("the property `Late` of type Edm.Boolean"), "{failure}");
    assert!(!output::checkpoint_path(&path).exists() && !output::part_path(&path).exists());
    export(&text).unwrap();
    assert_eq!(Manifest::of(&path).unwrap().rows, 101);
}

#[test]
fn an_export_without_a_row_leaves_nothing_when_it_fails() {
    let (folder, source) = database(1);
    for name in ["a.jsonl", "a.csv"] {
        let to = file(folder.path(), name);
        let failure = export(&[&source, "none", "--to", &to]).unwrap_err();
        assert!(failure.error::<table_orm::Error>().is_some(), "{failure}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "the database");
}

#[test]
fn an_export_has_the_selected_rows_and_properties() {
    let (folder, source) = database(100);
    for (selection, rows) in [
        (&["--partition", "p03"][..], 5),
        (&["--prefix", "p0"], 50),
        (&["--from-partition", "p05", "--to-partition", "p07"], 10),
        (&["--from-row", "000090"], 10),
        (&["--filter", "Double lt -49.5 and Double gt -60.5"], 11),
        (&["--prefix", "p0", "--filter", "Empty ne ''"], 0),
    ] {
        for name in ["a.jsonl", "a.csv"] {
            let to = file(folder.path(), name);
            let text = [&source, "results", "--to", &to, "--select", "Double,Empty", "--over"];
            export(&[&text, selection].concat()).unwrap();
            let manifest = Manifest::of(to.as_ref()).unwrap();
            assert_eq!(manifest.rows, rows, "{selection:?}");
            assert!(manifest.selection.starts_with(selection[0]), "{}", manifest.selection);
            assert!(!std::fs::read_to_string(&to).unwrap().contains("Text"));
        }
    }
}

#[test]
fn a_file_of_some_properties_replaces_no_rows_unasked() {
    let (folder, source) = database(100);
    let to = file(folder.path(), "a.jsonl");
    export(&[&source, "results", "--to", &to, "--select", "Double"]).unwrap();
    let narrow = import(&[&source, "--from", &to]).unwrap_err();
    assert!(matches!(narrow.error(), Some(import::ImportFailure::Narrow { .. })), "{narrow}");
    for names in ["Größe", "Double, Text"] {
        let other = file(folder.path(), "other.jsonl");
        if export(&[&source, "results", "--to", &other, "--select", names, "--over"]).is_ok() {
            let narrow = import(&[&source, "--from", &other]).unwrap_err();
            assert!(
                matches!(narrow.error(), Some(import::ImportFailure::Narrow { .. })),
                "{names}"
            );
        }
    }
    let target = file(folder.path(), "target.redb");
    let narrow = import(&[&target, "--from", &to]).unwrap_err();
    assert!(narrow.to_string().contains("--insert-only") && !Path::new(&target).exists());
    import(&[&target, "--from", &to, "--insert-only"]).unwrap();
    import(&[&target, "--from", &to, "--replace"]).unwrap();
    // A filter may have the word.
    let whole = file(folder.path(), "whole.jsonl");
    let filter = "Text ne '--select Text'";
    export(&[&source, "results", "--to", &whole, "--filter", filter]).unwrap();
    import(&[&source, "--from", &whole]).unwrap();
}

#[test]
fn a_changed_file_is_not_imported_and_nothing_is_written() {
    let (folder, source) = database(100);
    let to = file(folder.path(), "a.jsonl");
    export(&[&source, "results", "--to", &to]).unwrap();
    let target = file(folder.path(), "target.redb");
    let mut text = std::fs::read(&to).unwrap();
    text[40] ^= 1;
    std::fs::write(&to, &text).unwrap();
    let different = import(&[&target, "--from", &to]).unwrap_err();
    assert!(
        matches!(different.error(), Some(import::ImportFailure::Different { .. })),
        "{different}"
    );
    assert!(!Path::new(&target).exists());
    std::fs::remove_file(Manifest::path(to.as_ref())).unwrap();
    let missing = import(&[&target, "results", "--from", &to]).unwrap_err();
    assert!(missing.to_string().contains("--no-manifest"), "{missing}");
}

#[test]
fn a_compressed_file_that_is_cut_off_is_not_imported() {
    let (folder, source) = database(100);
    for name in ["a.jsonl.gz", "a.csv.zst"] {
        let to = file(folder.path(), name);
        export(&[&source, "results", "--to", &to]).unwrap();
        let whole = std::fs::read(&to).unwrap();
        for left in [0, whole.len() / 2, whole.len() - 1] {
            std::fs::write(&to, &whole[..left]).unwrap();
            let target = file(folder.path(), "target.redb");
            let failure = import(&[&target, "--from", &to]).unwrap_err();
            assert_eq!(failure.exit_code(), 1);
            let text = failure.to_string();
            assert!(text.contains(name) && text.contains("nothing was written"), "{text}");
            assert!(!Path::new(&target).exists());
        }
    }
}

#[test]
fn a_row_of_any_partition_is_selected_by_prefix_filter_and_properties_together() {
    let (folder, source) = database(100);
    let to = file(folder.path(), "a.jsonl");
    let options = ["--prefix", "p1", "--filter", "Double le -50.0", "--select", "Double,Absent"];
    let text = [&[&*source, "results", "--to", &to][..], &options].concat();
    export(&text).unwrap();
    let expected: String = (10..20)
        .flat_map(|partition| (0..5).map(move |round| (partition, round * 20 + partition)))
        .filter(|(_, row)| *row >= 50)
        .map(|(partition, row)| {
            let double = format!(r#""Double":-{row}.0,"Double@odata.type":"Edm.Double""#);
            format!("{{\"PartitionKey\":\"p{partition}\",\"RowKey\":\"{row:06}\",{double}}}\n")
        })
        .collect();
    assert_eq!(std::fs::read_to_string(&to).unwrap(), expected);
    let manifest = Manifest::of(to.as_ref()).unwrap();
    let rows = expected.lines().count() as u64;
    assert_eq!((manifest.rows, manifest.partitions), (rows, 10));
    let stated = r#"--prefix "p1" --filter "Double le -50.0" --select Double,Absent"#;
    assert_eq!(manifest.selection, stated);
}
