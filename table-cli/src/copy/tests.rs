use super::shared::SharedCopy;
use super::*;
use crate::store::StoreName;
use clap::Parser as _;
use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::io::Write as _;
use std::path::Path;
use std::task::Poll;
use std::time::Duration;
use table_orm::model::{DateTime, Edm};
use table_orm::queue::MemoryQueues;
use table_orm::testing::{FakeService, KeySet, ServiceSettings};
use table_orm::{DynamicEntity, Tables};
use tokio::process::Command;
use tokio::runtime::Runtime;
use tokio::sync::Notify;

async fn table(tables: &Tables, name: &str) -> Table {
    let name = TableName::new(name).unwrap();
    tables.create(&name).await.unwrap();
    tables.table(name)
}

fn copying(source: Table, target: Table, directory: &Path) -> Copying {
    let checkpoint = directory.join("copy.json");
    Copying { source, target, checkpoint, readers: 4, pages: 3, writers: 4 }
}

async fn sample(rows: usize) -> Table {
    let name = TableName::new("results").unwrap();
    StoreName::Sample(rows).open_to_read(&name).await.unwrap().table(name)
}

async fn content(table: &Table) -> Content {
    Content::of(table, 4, |_| ()).await.unwrap()
}

#[tokio::test]
async fn every_type_is_copied_exactly() {
    let directory = tempfile::tempdir().unwrap();
    let tables = Tables::in_memory().unwrap();
    let (source, target) = (table(&tables, "source").await, table(&tables, "target").await);
    let row = DynamicEntity::new("", "'%\u{1F3C3}")
        .with("Text", "3")
        .with("Int32", 3)
        .with("Int64", i64::MIN)
        .with("Whole", 3.0)
        .with("None", f64::NAN)
        .with("Flag", true)
        .with("At", DateTime::MAX)
        .with("Bytes", vec![0_u8, 255]);
    source.insert(&row).await.unwrap();
    let copying = copying(source, target, directory.path());
    assert_eq!(copying.run(pending(), |_| ()).await.unwrap(), Ended::Whole);
    let mut copy = copying.target.get("", &row.row_key).await.unwrap().unwrap();
    let Some(Edm::Double(nan)) = copy.properties.remove("None") else { panic!("a double") };
    assert!(nan.is_nan());
    let mut properties = row.properties;
    properties.remove("None");
    assert_eq!(copy.properties, properties);
    assert_eq!(content(&copying.source).await, content(&copying.target).await);
}

#[tokio::test]
async fn a_copy_that_is_interrupted_again_and_again_becomes_whole() {
    let directory = tempfile::tempdir().unwrap();
    let source = sample(30_000).await;
    let target = table(&Tables::open(directory.path().join("copy.redb")).unwrap(), "copy").await;
    let copying = copying(source, target, directory.path());
    let (written, mut runs) = (Cell::new(0), 0);
    loop {
        runs += 1;
        let (stop, pages) = (Notify::new(), Cell::new(0));
        let ended = copying.run(stop.notified(), |rows| {
            written.set(written.get() + rows);
            pages.set(pages.get() + 1);
            if pages.get() == 4 {
                stop.notify_one();
            }
        });
        if ended.await.unwrap() == Ended::Whole {
            break;
        }
        assert!(copying.checkpoint.exists() && runs < 100);
    }
    assert!(runs > 3, "{runs}");
    // Only pages that were in flight are copied again: at most three in each run.
    let (least, most) = (30_000, 30_000 + runs * 3 * 1000);
    assert!((least..most).contains(&written.get()), "{} in {runs}", written.get());
    let copied = content(&copying.target).await;
    assert_eq!(copied, content(&copying.source).await);
    assert_eq!(copied.rows, 30_000);
    // A whole copy has nothing left to do.
    copying.run(pending(), |_| panic!("nothing is left")).await.unwrap();
}

#[tokio::test]
async fn workers_that_share_a_copy_make_it_whole_though_one_stops() {
    let tables = Tables::in_memory().unwrap();
    let (target, control) = (table(&tables, "copy").await, table(&tables, "copies").await);
    let (source, queues) = (sample(30_000).await, MemoryQueues::new());
    let worker = || {
        let names = ("results-to-copy", "copies");
        SharedCopy::new([&source, &target, &control], queues.clone(), names, 2, 4)
    };
    worker().scan.start().await.unwrap();
    let pages = async {
        while worker().scan.status().await.unwrap().pages < 3 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    let [one, two, three] = [worker(), worker(), worker()];
    let (one, two, three) =
        tokio::join!(one.work(pages), two.work(pending()), three.work(pending()));
    let (one, two, three) = (one.unwrap(), two.unwrap(), three.unwrap());
    assert!(!one.complete && two.complete && three.complete);
    assert_eq!(one.rows + two.rows + three.rows, 30_000);
    assert_eq!(content(&target).await, content(&source).await);
}

/// Runs the program; when it has ended, nothing holds its files any more.
fn command(text: &[&str], directory: &Path) -> Result<(), CopyFailure> {
    command_until(text, directory, pending())
}

fn command_until(
    text: &[&str],
    directory: &Path,
    stop: impl Future<Output = ()>,
) -> Result<(), CopyFailure> {
    let checkpoint = directory.join("checkpoint.json");
    let checkpoint = ["--checkpoint", checkpoint.to_str().unwrap()];
    let arguments = read(&[text, &checkpoint].concat()).unwrap();
    Runtime::new().unwrap().block_on(run(arguments, stop))
}

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

/// The arguments of a command line about the table `results`.
fn read(text: &[&str]) -> Result<Arguments, clap::Error> {
    let line = ["copy", "--table", "results"].iter().chain(text);
    Line::try_parse_from(line).map(|line| line.arguments)
}

#[test]
fn a_program_stopped_at_any_moment_is_completed_by_the_next_one() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("copy.redb");
    let text = ["--from", "sample:5000", "--to", path.to_str().unwrap(), "--readers", "2"];
    // How often the program asks whether to stop: in the copy, and then in the check.
    for asked in 0.. {
        let mut left = asked;
        let stop = poll_fn(|_| {
            left -= 1;
            if left < 0 { Poll::Ready(()) } else { Poll::Pending }
        });
        match command_until(&text, directory.path(), stop) {
            Ok(()) => break,
            Err(CopyFailure::Stopped(_)) => assert!(asked < 1000),
            Err(failure) => panic!("{failure}"),
        }
    }
    assert!(!directory.path().join("checkpoint.json").exists());
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_continues_stops_while_it_counts_the_target() {
    let directory = tempfile::tempdir().unwrap();
    let hour = Duration::from_secs(3600);
    let settings = ServiceSettings { latency: (hour, hour), ..Default::default() };
    let keys = KeySet::new([("p".to_owned(), "r".to_owned())]);
    let name = TableName::new("results").unwrap();
    let target = Tables::new(FakeService::new(keys, settings)).table(name);
    let copying = copying(sample(10).await, target, directory.path());
    let arguments = read(&["--from", "sample:10", "--to", "memory"]).unwrap();
    let started = tokio::time::Instant::now();
    let stop = tokio::time::sleep(Duration::from_secs(60));
    let stopped = copy(&arguments, &copying, true, stop).await.unwrap_err();
    assert!(matches!(stopped, CopyFailure::Stopped(_)), "{stopped}");
    assert!(started.elapsed() < hour, "{:?}", started.elapsed());
}

#[test]
fn the_whole_program_copies_checks_and_tidies_up() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("copy.redb");
    let file = path.to_str().unwrap();
    command(&["--from", "sample:5000", "--to", file], directory.path()).unwrap();
    command(&["--from", file, "--to", file, "--to-table", "again"], directory.path()).unwrap();
    assert!(!directory.path().join("checkpoint.json").exists());
    Runtime::new().unwrap().block_on(async {
        let again = Tables::open(&path).unwrap().table(TableName::new("again").unwrap());
        assert_eq!(content(&again).await, content(&sample(5000).await).await);
    });
}

#[test]
fn what_would_do_harm_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("copy.redb");
    let file = path.to_str().unwrap();
    let copied = |text: &[&str]| command(text, directory.path()).unwrap();
    let rejected = |text: &[&str]| command(text, directory.path()).unwrap_err();
    copied(&["--from", "sample:10", "--to", file]);
    assert!(matches!(rejected(&["--from", file, "--to", file]), CopyFailure::Same(..)));
    let other_case = ["--from", file, "--to", file, "--to-table", "Results"];
    assert!(matches!(rejected(&other_case), CopyFailure::Same(..)));
    let error = rejected(&["--from", "sample:20", "--to", file]);
    assert!(matches!(error, CopyFailure::NotEmpty(_)), "{error}");
    copied(&["--from", "sample:20", "--to", file, "--over"]);
    let error = rejected(&["--from", "sample:10", "--to", file, "--over"]);
    assert!(matches!(error, CopyFailure::Different { .. }), "{error}");
    assert!(!directory.path().join("checkpoint.json").exists());
    for text in [
        &["--to", "memory"][..],
        &["--from", "memory"],
        &["--from", "memory", "--to", "memory", "--readers", "0"],
        &["--from", "memory", "--to", "memory", "--workers", "0"],
        &["--from", "memory", "--to", "memory", "--what"],
        &["--from", "memory", "--to", "memory", "--to-table", "no-table"],
    ] {
        assert!(read(text).is_err(), "{text:?}");
    }
}

#[test]
fn each_pair_of_stores_has_a_checkpoint_of_its_own() {
    let checkpoint =
        |from: &str, to: &str| read(&["--from", from, "--to", to]).unwrap().checkpoint().unwrap();
    let one = checkpoint("sample:10", "a.redb");
    assert_eq!(one, checkpoint("sample:10", "./a.redb"));
    let name = one.to_str().unwrap();
    assert!(name.starts_with("results-to-results-") && name.ends_with(".json"), "{name}");
    for (from, to) in [("sample:10", "b.redb"), ("sample:20", "a.redb"), ("a.redb", "sample:10")] {
        assert_ne!(one, checkpoint(from, to));
    }
}

#[test]
fn options_of_shared_copies_that_do_not_go_together_are_refused() {
    let stores = ["--from", "sample:10", "--to", "copy.redb"];
    for part in [&["--workers", "2"][..], &["--worker"]] {
        let arguments = read(&[&stores, part].concat()).unwrap();
        let error = Runtime::new().unwrap().block_on(run(arguments, pending())).unwrap_err();
        assert!(matches!(error, CopyFailure::Arguments(_)), "{error}");
        assert!(!Path::new("copy.redb").exists());
        assert!(read(&[&stores, part, &["--checkpoint", "copy.json"]].concat()).is_err());
    }
    assert!(read(&[&stores[..], &["--workers", "2", "--worker"]].concat()).is_err());
}

#[test]
fn a_worker_without_a_copy_in_progress_says_how_to_begin_one() {
    use table_orm::scan::distributed::DistributedScanError;
    let azurite = "UseDevelopmentStorage=true";
    let text = ["--from", azurite, "--to", azurite, "--to-table", "copy", "--worker"];
    let arguments = read(&text).unwrap();
    let error = DistributedScanError::NotStarted("results-to-copy".to_owned());
    let failure = workers::incomplete(&arguments, error.into());
    assert_eq!(
        failure.to_string(),
        "no copy of `results` to `copy` between these accounts is in progress, so there is nothing to \
         work on; begin it with --workers"
    );
}

#[test]
fn ranges_put_aside_are_reported_with_their_error() {
    let poisoned = |error: Option<&str>| {
        workers::WorkersError::Poisoned { ranges: 2, error: error.map(str::to_owned) }.to_string()
    };
    assert_eq!(
        poisoned(Some("rejected: too large")),
        "2 ranges were put aside, because each attempt failed, the last time with: rejected: \
         too large; the same command tries them again"
    );
    assert!(poisoned(None).contains("because each attempt failed; the same command"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_killed_worker_is_reported_while_others_work() {
    let mut workers = workers::Workers::default();
    let sleeping = || Command::new("sleep").arg("600").kill_on_drop(true).spawn().unwrap();
    let (first, second) = (sleeping(), sleeping());
    let killed = second.id().unwrap();
    workers.add(first);
    workers.add(second);
    assert!(Command::new("kill").arg(killed.to_string()).status().await.unwrap().success());
    let reported = RefCell::new(String::new());
    let mut ended = pin!(workers.ended(|line| *reported.borrow_mut() = line.to_owned()));
    let is_reported = poll_fn(|context| {
        assert!(ended.as_mut().poll(context).is_pending(), "the first worker still sleeps");
        if reported.borrow().is_empty() { Poll::Pending } else { Poll::Ready(()) }
    });
    is_reported.await;
    let reported = reported.borrow();
    assert!(reported.starts_with(&format!("worker {killed} was killed (signal: 15")), "{reported}");
}

#[test]
fn command_lines_of_workers_have_no_keys() {
    let account = "DefaultEndpointsProtocol=https;AccountName=runners;AccountKey=c2VjcmV0";
    let text = ["--from", "UseDevelopmentStorage=true", "--to", account, "--workers", "3"];
    let arguments = read(&text).unwrap();
    let command = workers::worker(Path::new("table-orm"), &arguments, 3);
    let command = command.as_std();
    let line: Vec<_> = command.get_args().map(|text| text.to_str().unwrap()).collect();
    let from = ["copy", "--from", "env:TABLE_ORM_COPY_FROM", "--to", "env:TABLE_ORM_COPY_TO"];
    assert_eq!(line[..5], from);
    assert!(!line.iter().any(|text| text.contains('=')), "{line:?}");
    let passed = |name: &str, value: &str| {
        command.get_envs().any(|set| set == (name.as_ref(), Some(value.as_ref())))
    };
    assert!(passed("TABLE_ORM_COPY_FROM", "UseDevelopmentStorage=true"));
    assert!(passed("TABLE_ORM_COPY_TO", account));
    assert!(passed("TABLE_ORM_COPY_PARENT", "stdin"));
}

#[tokio::test]
async fn a_worker_stops_when_its_pipe_is_closed_and_not_before() {
    let (reader, mut writer) = io::pipe().unwrap();
    let mut ended = pin!(workers::end_of(reader));
    writer.write_all(b"text").unwrap();
    let early = tokio::time::timeout(Duration::from_millis(50), ended.as_mut()).await;
    assert!(early.is_err());
    drop(writer);
    tokio::time::timeout(Duration::from_secs(60), ended).await.unwrap();
}

fn rows(rows: &[DynamicEntity]) -> Content {
    let mut content = Content::default();
    rows.iter().for_each(|row| content.add(row));
    content
}

#[test]
fn content_distinguishes_keys_names_types_and_values_but_not_order() {
    let row = |rk: &str| DynamicEntity::new("p", rk);
    let [one, two] = [row("1").with("N", 1), row("2").with("N", 1)];
    assert_eq!(rows(&[one.clone(), two.clone()]), rows(&[two.clone(), one.clone()]));
    let others = [
        two,
        row("1").with("M", 1),
        row("1").with("N", 2),
        row("1").with("N", 1_i64),
        row("1").with("N", 1.0),
        row("1").with("N", "1"),
        row("1"),
        row("1").with("N", 1).with("M", 1),
        DynamicEntity::new("p1", "").with("N", 1),
    ];
    for other in others {
        assert_ne!(rows(std::slice::from_ref(&one)), rows(std::slice::from_ref(&other)));
    }
    let zero = |value: f64| rows(&[row("1").with("N", value)]);
    assert_ne!(zero(0.0), zero(-0.0));
}
