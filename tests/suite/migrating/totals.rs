//! Types with sums.

use super::types::{Counter, permit};
use std::sync::Arc;
use table_orm::embedded::EmbeddedStore;
use table_orm::migrate::{Migrating, MigrationError, StoredForm};
use table_orm::{Error, Repo, Result, Sum, TableEntity, Tables};

macro_rules! sale {
    ($ty:ident, $sums:expr, [$($keys:tt)*]) => {
        #[derive(Debug, Clone, PartialEq, TableEntity)]
        #[table($($keys)*, sums = $ty::SUMS)]
        struct $ty {
            shop: String,
            n: u32,
            cents: i64,
        }

        impl $ty {
            const CENTS: Sum<Self> = Sum::of("cents", |sale| sale.cents);
            const SUMS: &'static [Sum<Self>] = &$sums;
        }
    };
}

macro_rules! both_ways {
    ($new:ident, $old:ident) => {
        impl From<$old> for $new {
            fn from($old { shop, n, cents }: $old) -> Self {
                Self { shop, n, cents }
            }
        }

        impl From<$new> for $old {
            fn from($new { shop, n, cents }: $new) -> Self {
                Self { shop, n, cents }
            }
        }
    };
}

// Within a partition.
sale!(
    SaleV1,
    [Sum::count("sales"), Self::CENTS],
    [name = "sales", partition = "{shop}", row = "S:{n:03}"]
);
sale!(
    Sale,
    [Sum::count("sales"), Self::CENTS],
    [name = "sales", partition = "{shop}", row = "SALE:{n:08}", migrate_from = SaleV1]
);
both_ways!(Sale, SaleV1);

// To another table.
sale!(TillV1, [Self::CENTS], [name = "tills", partition = "{shop}", row = "T:{n:03}"]);
sale!(
    Till,
    [Self::CENTS],
    [name = "tills2", partition = "T{shop}", row = "T:{n:08}", migrate_from = TillV1]
);
// The next version of the app.
sale!(TillV3, [Self::CENTS], [name = "tills2", partition = "T{shop}", row = "T:{n:08}"]);
both_ways!(Till, TillV1);

struct Shop {
    store: Arc<Counter>,
    tables: Tables,
    sales: Repo<SaleV1>,
    sales_of: [Migrating<Sale>; 2],
    tills: Repo<TillV1>,
    tills_of: [Migrating<Till>; 2],
}

async fn shop() -> Result<Shop> {
    let store = Arc::new(Counter::around(Arc::new(EmbeddedStore::in_memory()?)));
    let tables = Tables::new(store.clone());
    let (sales, tills) = (tables.repo(), tables.repo());
    sales.create_table().await?;
    tills.create_table().await?;
    let (new_sales, new_tills) = (tables.migrating::<Sale>()?, tables.migrating::<Till>()?);
    new_tills.create_table_if_not_exists().await?;
    let sales_of = [new_sales.clone().inserting(StoredForm::Old), new_sales];
    let tills_of = [new_tills.clone().inserting(StoredForm::Old), new_tills];
    store.take();
    Ok(Shop { store, tables, sales, sales_of, tills, tills_of })
}

#[tokio::test]
async fn within_a_partition_both_forms_have_one_total() -> Result<()> {
    let Shop { store, sales, sales_of, .. } = shop().await?;
    let sale = |n, cents| Sale { shop: "a".into(), n, cents };
    let total = async || sales_of[0].sum(Sale::partition("a"), &Sale::CENTS).await;
    for n in 0..10 {
        sales.insert(&sale(n, 100).into()).await?;
    }
    sales_of[0].insert(&sale(10, 1)).await?;
    sales_of[1].insert(&sale(11, 2)).await?;
    assert_eq!(total().await?, 1003);
    assert_eq!(sales.sum(SaleV1::partition("a"), &SaleV1::CENTS).await?, 1003);
    // A save that moves an entity changes the totals by what it changes: it reads the old row and two totals.
    let key = Sale::partition("a").row().n(0_u32);
    let mut held = sales_of[1].load(&key).await?.expect("it is stored");
    held.cents = 50;
    store.take();
    sales_of[1].save(&mut held).await?;
    assert_eq!((held.form(), store.take(), total().await?), (StoredForm::New, 4, 953));
    // A move as such leaves them alone.
    store.take();
    assert_eq!(sales_of[1].migrate(&permit()).await.all()?, 10);
    assert_eq!((store.take(), total().await?), (1 + 10 + 1, 953));
    let mut held = sales_of[0].load(&key).await?.expect("it is stored");
    held.cents = 60;
    sales_of[0].save(&mut held).await?;
    sales_of[1].delete(held).await?;
    assert_eq!(total().await?, 903);
    Ok(())
}

#[tokio::test]
async fn a_total_follows_each_entity_to_its_new_partition() -> Result<()> {
    let Shop { store, tables, tills, tills_of, .. } = shop().await?;
    let till = |n, cents| Till { shop: "a".into(), n, cents };
    let totals = async || -> Result<[i64; 2]> {
        let old = tills.sum(TillV1::partition("a"), &TillV1::CENTS).await?;
        Ok([old, tills_of[0].sum(Till::partition("a"), &Till::CENTS).await?])
    };
    for n in 0..40 {
        tills.insert(&till(n, 100).into()).await?;
    }
    assert_eq!(totals().await?, [4000, 0]);
    let mut held = tills_of[1].load(Till::partition("a").row().n(0_u32)).await?.expect("stored");
    held.cents = 7;
    store.take();
    tills_of[1].save(&mut held).await?;
    // Besides the three requests: the old row, and the total of each partition.
    assert_eq!((store.take(), totals().await?), (6, [3900, 7]));
    assert_eq!(tills_of[1].migrate(&permit()).in_bulk().await.all()?, 39);
    assert_eq!(totals().await?, [0, 3907]);
    assert!(tables.repo::<TillV3>().verify_sums(TillV3::partition("a")).await?.is_empty());
    Ok(())
}

#[test]
fn sums_whose_totals_cannot_follow_are_refused() {
    sale!(
        CopiedV1,
        [Self::CENTS.over_partitions()],
        [name = "copied", partition = "{shop}", row = "S:{n:03}"]
    );
    sale!(
        Copied,
        [Self::CENTS],
        [name = "copied", partition = "{shop}", row = "SALE:{n:08}", migrate_from = CopiedV1]
    );
    both_ways!(Copied, CopiedV1);
    sale!(SpreadV1, [Self::CENTS], [name = "spread", partition = "{shop}", row = "S:{n:03}"]);
    sale!(
        Spread,
        [Self::CENTS.shards(4)],
        [name = "spread", partition = "{shop}", row = "SALE:{n:08}", migrate_from = SpreadV1]
    );
    both_ways!(Spread, SpreadV1);
    let tables = Tables::in_memory().unwrap();
    let refused = [tables.migrating::<Copied>().err(), tables.migrating::<Spread>().err()];
    for error in refused {
        let is_refused =
            matches!(&error, Some(Error::Migration(MigrationError::Sum { sum: "cents", .. })));
        assert!(is_refused, "{error:?}");
    }
}
