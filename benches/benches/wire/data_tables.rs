//! `azure_data_tables` 0.21, with its defaults and tuned.

use super::client::{ACCOUNT, Client, KEY, Work};
use super::finisher::{BATCH, PAGE, PARTITION, Plain, TABLE, plain};
use super::server::Server;
use async_trait::async_trait;
use azure_core_0_21::headers::{ACCEPT, Headers};
use azure_core_0_21::{ClientOptions, Context, CustomHeaders, TransportOptions};
use azure_data_tables::clients::{TableClient, TableServiceClientBuilder};
use azure_data_tables::operations::InsertEntityResponse;
use azure_data_tables::prelude::Top;
use azure_storage::{CloudLocation, StorageCredentials};
use futures_util::StreamExt as _;
use std::sync::Arc;

pub struct DataTables {
    table: TableClient,
    context: Context,
}

impl DataTables {
    /// With the crate's own HTTP client, except for the authority that it trusts.
    pub fn as_it_comes(endpoint: &str, server: &Server) -> Self {
        let http = reqwest_0_12::Client::builder().pool_max_idle_per_host(0);
        Self::new(endpoint, server, http, Context::new())
    }

    /// With pooled connections, and minimal metadata, the least that it can read.
    pub fn tuned(endpoint: &str, server: &Server) -> Self {
        let mut headers = Headers::new();
        headers.insert(ACCEPT, "application/json;odata=minimalmetadata");
        let mut context = Context::new();
        context.insert(CustomHeaders::from(headers));
        Self::new(endpoint, server, reqwest_0_12::Client::builder(), context)
    }

    fn new(
        endpoint: &str,
        server: &Server,
        http: reqwest_0_12::ClientBuilder,
        context: Context,
    ) -> Self {
        let authority = reqwest_0_12::Certificate::from_pem(server.authority.as_bytes()).unwrap();
        let http = http.add_root_certificate(authority).build().unwrap();
        let location = CloudLocation::Custom { account: ACCOUNT.into(), uri: endpoint.into() };
        let service = TableServiceClientBuilder::with_location(
            location,
            StorageCredentials::access_key(ACCOUNT, KEY.to_owned()),
        )
        .client_options(ClientOptions::new(TransportOptions::new(Arc::new(http))))
        .build();
        Self { table: service.table_client(TABLE), context }
    }
}

#[async_trait]
impl Client for DataTables {
    async fn carry_out(&self, work: Work) {
        let partition = || self.table.partition_key_client(PARTITION);
        let context = self.context.clone();
        match work {
            Work::Get => {
                let get = partition().entity_client("00007").get::<Plain>().context(context);
                assert_eq!(get.await.unwrap().entity.row_key, "00007");
            }
            Work::Insert => {
                let insert = self.table.insert::<_, Plain>(&plain(7)).unwrap().context(context);
                let _: InsertEntityResponse<Plain> = insert.await.unwrap();
            }
            Work::Batch => {
                let transaction = (0..BATCH).fold(partition().transaction(), |transaction, bib| {
                    transaction.insert(plain(bib)).unwrap()
                });
                let answer = transaction.await.unwrap();
                assert_eq!(answer.operation_responses.len(), BATCH as usize);
            }
            Work::Page => {
                let query = self.table.query().filter(format!("PartitionKey eq '{PARTITION}'"));
                let query = query.top(Top::new(PAGE)).context(context);
                let page = query.into_stream::<Plain>().next().await.unwrap().unwrap();
                assert_eq!(page.entities.len(), PAGE as usize);
            }
        }
    }
}
