//! Ids that grow with the clock, in a PartitionKey: spread by a shard, or where that is accepted.

use std::fmt::Debug;
use table_orm::{EntityKeys, ScanPermit, TableEntity, Tables};
use ulid::Ulid;
use uuid::Uuid;

/// Types with one id, each with a way to make one from its bits.
macro_rules! types {
    ($($(#[$attribute:meta])* $name:ident($id:ident);)+) => {$(
        #[derive(Debug, Clone, PartialEq, TableEntity)]
        $(#[$attribute])*
        pub struct $name {
            id: $id,
            note: String,
        }

        impl $name {
            pub fn of(bits: u128) -> Self {
                Self { id: $id::from_bytes(bits.to_be_bytes()), note: format!("{bits:x}") }
            }
        }
    )+};
}

types! {
    #[table(name = "events", partition = "{part}__{id}", row = "ULID")]
    #[component(part = shard(id, 16))]
    SpreadUlid(Ulid);

    #[table(name = "events", partition = "{part}", row = "ULID:{id}")]
    #[component(part = shard(id, 16))]
    GatheredUlid(Ulid);

    #[table(name = "events", partition = "{id}", row = "ULID", allow_append_only)]
    LeadingUlid(Ulid);

    #[table(name = "events", partition = "{newest}", row = "NEWEST", allow_append_only)]
    #[component(newest = desc(id))]
    NewestUlid(Ulid);

    #[table(name = "events", partition = "{part}__{id}", row = "GUID")]
    #[component(part = shard(id, 16))]
    SpreadGuid(Uuid);

    #[table(name = "events", partition = "{id}", row = "GUID")]
    LeadingGuid(Uuid);
}

/// Two of version 7, one millisecond apart.
pub const IDS: [u128; 2] =
    [0x018B_CFE5_6800_7000_8000_0000_0000_0042, 0x018B_CFE5_6801_7000_8000_0000_0000_0042];

async fn assert_read_back<E>(of: fn(u128) -> E)
where
    E: TableEntity + Debug + PartialEq + 'static,
{
    let repo = Tables::in_memory().unwrap().repo::<E>();
    repo.create_table().await.unwrap();
    let all = IDS.map(of);
    for entity in &all {
        repo.insert(entity).await.unwrap();
    }
    for entity in &all {
        assert_eq!(repo.get(entity.key()).await.unwrap().as_ref(), Some(entity));
        assert_eq!(&*repo.load(entity.key()).await.unwrap().one().unwrap(), entity);
        let found = repo.list(entity.partition()).collect().await.unwrap();
        assert!(found.contains(entity), "{found:?}");
    }
    let found = repo.scan(ScanPermit::because("test")).collect().await.unwrap();
    assert!(found.len() == 2 && all.iter().all(|one| found.contains(one)), "{found:?}");
}

#[tokio::test]
async fn a_growing_id_in_a_partition_key_is_read_back() {
    assert_read_back(SpreadUlid::of).await;
    assert_read_back(GatheredUlid::of).await;
    assert_read_back(LeadingUlid::of).await;
    assert_read_back(NewestUlid::of).await;
    assert_read_back(SpreadGuid::of).await;
    assert_read_back(LeadingGuid::of).await;
}
