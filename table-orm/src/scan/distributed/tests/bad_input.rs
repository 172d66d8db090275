//! Invalid scans and calls fail, with an error that says what to do.

use super::*;
use crate::entity::RowHead;
use crate::queue::{MemoryQueues, QueueErrorKind, Queues as _};
use crate::scan::distributed::DistributedScanError;
use crate::scan::tests::run;
use crate::scan::{Scan, ScanError, Splitter};
use crate::{DynamicEntity, Error};
use std::time::Duration;

async fn rejected(world: &World, scan: &Distributed) -> Error {
    let started = scan.start().await.unwrap_err();
    let worked = world.work_on(scan, Duration::ZERO).await.unwrap_err();
    assert_eq!(started.to_string(), worked.to_string());
    assert_eq!(world.service.figures().requests, 0);
    assert_eq!(world.queues.calls("send") + world.queues.calls("receive"), 0);
    started
}

#[test]
fn ids_and_queue_names_are_checked_before_the_first_request() {
    run(async {
        let world = World::new(numbered(50), 10).await;
        let long = "x".repeat(81);
        for id in ["", "a/b", "a b", "größe", "a\"b", &long] {
            let scan = world.plain();
            let scan = scan.distributed(id, &world.control(), world.queues.clone(), QUEUE);
            let error = rejected(&world, &scan).await;
            let expected = DistributedScanError::Id(id.to_owned());
            assert!(matches!(&error, Error::DistributedScan(error) if *error == expected));
            assert!(error.to_string().contains("1 to 80 ASCII letters"), "{error}");
        }
        // The poison queue's name is longer by seven.
        let long = "q".repeat(57);
        for queue in ["", "Q", "a_b", "a--b", &long] {
            let scan = world.plain();
            let scan = scan.distributed("id", &world.control(), world.queues.clone(), queue);
            let error = rejected(&world, &scan).await;
            let invalid = |kind| kind == QueueErrorKind::Invalid;
            assert!(matches!(&error, Error::Queue(error) if invalid(error.kind)), "{error}");
        }
        let scan = world.plain();
        let scan = scan.distributed("id", &world.control(), world.queues.clone(), &long);
        let error = rejected(&world, &scan).await.to_string();
        assert!(
            error.ends_with(
                "`-poison`, as that of the queue for ranges put aside is; use at \
                                 most 56 characters"
            ),
            "{error}"
        );
    });
}

#[test]
fn options_of_one_process_are_refused() {
    type Change = fn(Scan<DynamicEntity>) -> Scan<DynamicEntity>;
    let changes: [(&str, Change); 6] = [
        ("ordered", |scan| scan.ordered(true)),
        ("take", |scan| scan.take(5)),
        ("checkpoint", |scan| scan.checkpoint("file")),
        ("after", |scan| scan.after(RowHead::default())),
        ("handlers", |scan| scan.handlers(2)),
        ("Splitter::Prefix", |scan| scan.split(Splitter::Prefix)),
    ];
    run(async {
        let world = World::new(numbered(50), 10).await;
        for (name, change) in changes {
            let error = rejected(&world, &world.distribute(change(world.plain()))).await;
            let Error::DistributedScan(DistributedScanError::Option { option, .. }) = &error else {
                panic!("{error}")
            };
            assert_eq!(*option, name);
        }
        let scan = world.plain().partition_range("b".to_owned().."a".to_owned());
        let error = rejected(&world, &world.distribute(scan)).await;
        assert!(matches!(error, Error::Scan(ScanError::EmptyRange { .. })));
        let plain = world.plain().concurrency(0);
        let scan = plain.distributed("id", &world.control(), world.queues.clone(), QUEUE);
        let error = rejected(&world, &scan).await;
        assert!(matches!(error, Error::Scan(ScanError::NoWorkers)));
        let keys = (0..99).map(|key| format!("{key:03}")).collect();
        let scan = world.distribute(world.plain().split(Splitter::Keys(keys)));
        let error = scan.start().await.unwrap_err();
        let expected = DistributedScanError::TooManySplitKeys { found: 99, most: 98 };
        assert!(matches!(error, Error::DistributedScan(error) if error == expected));
        let keys = (0..98).map(|key| format!("{key:03}")).collect();
        world.distribute(world.plain().split(Splitter::Keys(keys))).start().await.unwrap();
    });
}

#[test]
fn a_missing_table_scan_or_queue_is_named() {
    run(async {
        let world = World::new(numbered(50), 10).await;
        let control = world.control();
        let missing = world.control.table(crate::TableName::new("missing").unwrap());
        let scan = world.plain().distributed("id", &missing, world.queues.clone(), QUEUE);
        for error in [
            scan.start().await.unwrap_err(),
            world.work_on(&scan, Duration::ZERO).await.unwrap_err(),
            scan.status().await.unwrap_err(),
        ] {
            assert!(matches!(error, Error::TableNotFound(_)), "{error}");
            assert!(error.to_string().contains("create it"), "{error}");
        }
        let scan = world.scan();
        for error in [
            world.work_on(&scan, Duration::ZERO).await.unwrap_err(),
            scan.status().await.unwrap_err(),
            scan.sweep().await.unwrap_err(),
            scan.redrive().await.unwrap_err(),
        ] {
            let expected = DistributedScanError::NotStarted("test".to_owned());
            assert!(matches!(&error, Error::DistributedScan(error) if *error == expected));
            assert_eq!(
                error.to_string(),
                "scan `test` is not in the control table; `start` it first, or pass the id that it \
                 was started with"
            );
        }
        let queues = MemoryQueues::new();
        let scan = world.plain().distributed("id", &control, queues.clone(), QUEUE);
        scan.start().await.unwrap();
        queues.delete(QUEUE).await.unwrap();
        let error = world.work_on(&scan, Duration::ZERO).await.unwrap_err();
        assert!(error.to_string().contains("queue `copies`: there is no such queue"), "{error}");
        assert!(error.to_string().ends_with("create it first: `start` of the scan does so"));
        // Starting again creates it, and a sweep finds what was in it.
        scan.start().await.unwrap();
        world.work_on(&scan, Duration::ZERO).await.unwrap();
        world.assert_all_handled(0);
    });
}

#[test]
fn a_scan_of_another_kind_under_the_same_id_is_refused() {
    use crate::query::{Comparison, Filter};
    run(async {
        let world = World::new(numbered(50), 10).await;
        let scan = |plain| world.distribute(plain);
        let filter = || Filter::compare("N", Comparison::Less, 20);
        scan(world.plain().filter(filter())).start().await.unwrap();
        scan(world.plain().filter(filter())).start().await.unwrap();
        let other = crate::TableName::new("others").unwrap();
        let permit = crate::ScanPermit::because("test");
        let table = crate::Tables::new(world.service.clone()).scan(other, permit);
        for (plain, expected) in [
            (table.filter(filter()), "table"),
            (world.plain(), "range or filter"),
            (world.plain().filter(filter()).prefix("0"), "range or filter"),
            (world.plain().filter(filter()).select(["N"]), "selection"),
            (world.plain().filter(filter()).page_size(7), "page size"),
            (world.plain().filter(filter()).split(Splitter::Serial), "splitter"),
        ] {
            let scan = scan(plain);
            for error in [
                scan.start().await.unwrap_err(),
                world.work_on(&scan, Duration::ZERO).await.unwrap_err(),
            ] {
                let text = error.to_string();
                let Error::DistributedScan(DistributedScanError::OtherScan { what, .. }) = error
                else {
                    panic!("{text}")
                };
                assert_eq!(what, expected, "{text}");
            }
        }
        assert_eq!(world.service.figures().requests, 0);
        let error = scan(world.plain()).start().await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "scan `test` was started with another range or filter: N lt 20, and here it is all; \
             configure it the same everywhere, or start another scan under another id"
        );
    });
}

#[test]
fn a_scan_that_was_started_with_another_queue_is_refused() {
    run(async {
        let world = World::new(numbered(50), 10).await;
        world.scan().start().await.unwrap();
        let scan = world.plain();
        let scan = scan.distributed("test", &world.control(), world.queues.clone(), "others");
        for error in [
            world.work_on(&scan, Duration::ZERO).await.unwrap_err(),
            scan.sweep().await.unwrap_err(),
            scan.redrive().await.unwrap_err(),
            scan.start().await.unwrap_err(),
        ] {
            assert_eq!(
                error.to_string(),
                "scan `test` was started with another queue: copies, and here it is others; \
                 configure it the same everywhere, or start another scan under another id"
            );
        }
        assert_eq!(scan.status().await.unwrap().open, 1);
    });
}

#[test]
fn a_scan_of_another_version_is_refused() {
    run(async {
        let world = World::new(numbered(50), 10).await;
        let scan = world.scan();
        scan.start().await.unwrap();
        let mut row = world.control().get("test", "scan").await.unwrap().unwrap();
        row.properties.insert("Version".to_owned(), 2.into());
        world.control().insert_or_replace(&row).await.unwrap();
        let expected =
            DistributedScanError::Version { scan: "test".to_owned(), found: 2, expected: 1 };
        for error in [
            scan.start().await.unwrap_err(),
            world.work_on(&scan, Duration::ZERO).await.unwrap_err(),
            scan.status().await.unwrap_err(),
            scan.sweep().await.unwrap_err(),
            scan.redrive().await.unwrap_err(),
        ] {
            assert!(matches!(&error, Error::DistributedScan(error) if *error == expected));
        }
        scan.remove().await.unwrap();
    });
}

#[test]
fn a_scan_begun_by_an_earlier_version_continues() {
    use crate::model::Edm;
    run(async {
        let world = World::new(numbered(50), 10).await;
        let scan = world.scan();
        scan.start().await.unwrap();
        let rows = world.control().list("test", ..).collect().await.unwrap();
        for mut row in rows {
            // The columns that it did not know.
            for name in ["Queue", "Error"] {
                row.properties.remove(name);
            }
            let names: Vec<_> = row.properties.keys().map(String::as_str).collect();
            let known: &[_] = match row.row_key.as_str() {
                "scan" => &["LeastPages", "PageSize", "Splits", "Table", "Version"],
                _ => &["Due", "From", "Generation", "Pages", "Rows", "Stalls"],
            };
            assert_eq!(names, known);
            assert!(!row.row_key.starts_with("scan") || row.properties["Version"] == Edm::Int32(1));
            world.control().insert_or_replace(&row).await.unwrap();
        }
        world.work(Duration::ZERO).await.unwrap();
        world.assert_all_handled(0);
        assert!(scan.status().await.unwrap().is_whole());
    });
}
