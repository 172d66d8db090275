//! What every client does.

use super::finisher::{BATCH, Finisher, PAGE, PARTITION, finisher};
use super::server::Server;
use async_trait::async_trait;
use table_orm::azure::{AzureStore, ConnectOptions, SharedKey};
use table_orm::{Repo, Tables};

pub const ACCOUNT: &str = "acc";
pub const KEY: &str = "c2VjcmV0LWtleS1vZi10aGUtYWNjb3VudC1vZi0zMi1ieXRlcw==";

/// One operation of the benchmark.
#[derive(Debug, Clone, Copy)]
pub enum Work {
    Get,
    Insert,
    Batch,
    Page,
}

impl Work {
    pub const ALL: [Self; 4] = [Self::Get, Self::Insert, Self::Batch, Self::Page];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "point get",
            Self::Insert => "insert",
            Self::Batch => "transaction of 100 inserts",
            Self::Page => "page of 1000 rows",
        }
    }

    /// How many of them are one measurement.
    pub const fn count(self) -> u32 {
        match self {
            Self::Get | Self::Insert => 1600,
            Self::Batch => 160,
            Self::Page => 96,
        }
    }
}

/// A client of the service, from typed values to typed values.
#[async_trait]
pub trait Client: Send + Sync {
    async fn carry_out(&self, work: Work);
}

/// This crate, from the entity to the wire and back.
pub struct TableOrm(Repo<Finisher>);

impl TableOrm {
    pub fn new(endpoint: &str, server: &Server) -> Self {
        let root_certificates = server.authority.clone();
        let options = ConnectOptions { root_certificates, ..ConnectOptions::default() };
        let key = SharedKey::new(ACCOUNT, KEY).unwrap();
        Self(Tables::new(AzureStore::with_options(endpoint, key, options).unwrap()).repo())
    }
}

#[async_trait]
impl Client for TableOrm {
    async fn carry_out(&self, work: Work) {
        let race = Finisher::partition(PARTITION);
        match work {
            Work::Get => assert!(self.0.get(race.row().bib(7)).await.unwrap().is_some()),
            Work::Insert => drop(self.0.insert(&finisher(7)).await.unwrap()),
            Work::Batch => {
                let unit = (0..BATCH)
                    .fold(self.0.transaction(&race), |unit, bib| unit.insert(&finisher(bib)));
                assert_eq!(unit.commit().await.unwrap().len(), BATCH as usize);
            }
            Work::Page => {
                let page = self.0.list(race).pages(PAGE as usize).next().await.unwrap().unwrap();
                assert_eq!(page.items.len(), PAGE as usize);
            }
        }
    }
}
