//! Shared access signatures made here, judged by Azurite.

use crate::Run;
use crate::queues;
use crate::subject::{Subject, insert};
use azure_core::credentials::Secret;
use azure_core::hmac::hmac_sha256;
use std::sync::Arc;
use support::azurite::{ACCOUNT, Azurite, KEY};
use table_orm::azure::AzureQueues;
use table_orm::azure::{
    AccessPolicy, AzureStore, ConnectionString, Credential, Permissions, SharedKey, TableSas,
};
use table_orm::model::Metadata;
use table_orm::query::Span;
use table_orm::queue::{QueueErrorKind, Queues as _};
use table_orm::store::{Batch, Store, StoreError};
use table_orm::{Error, Tables};
use time::{Duration, OffsetDateTime};

type Case = (&'static str, fn(&Azurite) -> Run);

pub fn all() -> [Case; 8] {
    [
        ("signatures::grant_what_they_say", |azurite| Box::pin(grants(azurite.clone()))),
        ("signatures::of_the_account_commit", |azurite| Box::pin(account(azurite.clone()))),
        ("signatures::of_the_account_open_queues", |azurite| Box::pin(queues(azurite.clone()))),
        ("signatures::of_a_policy_follow_it", |azurite| Box::pin(policy(azurite.clone()))),
        ("policies::are_read_as_they_were_set", |azurite| {
            let text = azurite.connection_string();
            Box::pin(async move { policies(&text, true).await })
        }),
        ("signatures::expire", |azurite| Box::pin(expires(azurite.clone()))),
        ("keys::that_are_wrong_are_refused", |azurite| Box::pin(wrong_key(azurite.clone()))),
        ("metadata::is_left_out_of_typed_pages", |azurite| Box::pin(metadata(azurite.clone()))),
    ]
}

async fn subject(azurite: &Azurite) -> Subject {
    let text = azurite.connection_string();
    Subject::new(AzureStore::from_connection_string(&text).unwrap()).await
}

fn key() -> SharedKey {
    SharedKey::new(ACCOUNT, KEY).unwrap()
}

fn sas(subject: &Subject, permissions: Permissions, hours: i64) -> TableSas {
    let expiry = OffsetDateTime::now_utc() + Duration::hours(hours);
    TableSas::new(subject.table.clone(), permissions, expiry).allow_http()
}

async fn grants(azurite: Azurite) {
    let subject = subject(&azurite).await;
    subject.insert("p q", "it's", "").await;
    let all = Permissions::READ | Permissions::ADD | Permissions::UPDATE | Permissions::DELETE;
    for (permissions, may_write) in [(Permissions::READ, false), (all, true)] {
        let signed = sas(&subject, permissions, 1).rows("p q", "a", "z").sign(&key()).unwrap();
        let text = format!("TableEndpoint={};SharedAccessSignature={signed}", azurite.endpoint());
        let ConnectionString { endpoint, credential, .. } = text.parse().unwrap();
        let store = AzureStore::new(&endpoint, credential).unwrap();
        let row = store.get(&subject.table, "p q", "it's", None, Metadata::None).await.unwrap();
        assert!(row.is_some());
        store.query(&subject.query(Span::Exact("p q".into()), Span::All)).await.unwrap();
        let written = store.write(&subject.table, "p q", insert("p q", "b", "")).await;
        if may_write {
            written.unwrap();
        } else {
            assert_unauthorized(&written.unwrap_err());
        }
    }
}

/// A signature of the account: for the service, kinds of resources and permissions of those letters.
fn account_signature(service: &str, resources: &str, permissions: &str) -> Credential {
    let expiry = (OffsetDateTime::now_utc() + Duration::hours(1)).date();
    let expiry = format!("{expiry}T23:59:59Z");
    let signed = format!(
        "{ACCOUNT}\n{permissions}\n{service}\n{resources}\n\n{expiry}\n\nhttps,http\n2019-02-02\n"
    );
    let signature = hmac_sha256(&signed, &Secret::new(KEY)).unwrap();
    let encode = |text: &str| text.replace('+', "%2B").replace('/', "%2F").replace('=', "%3D");
    let query = format!(
        "?sv=2019-02-02&ss={service}&srt={resources}&sp={permissions}&se={expiry}&spr=https,http\
         &sig={}",
        encode(&signature)
    );
    Credential::sas(&query).unwrap()
}

/// Azurite takes it for a transaction, unlike a signature of one table.
async fn account(azurite: Azurite) {
    let subject = subject(&azurite).await;
    let signature = account_signature("t", "o", "raud");
    let store = AzureStore::new(&azurite.endpoint(), signature).unwrap();
    let operations = vec![insert("p", "a", ""), insert("p", "b", "")];
    let transaction = Batch { partition_key: "p".into(), operations };
    assert_eq!(store.commit(&subject.table, transaction).await.unwrap().len(), 2);
    assert_eq!(subject.keys(subject.query(Span::All, Span::All)).await.len(), 2);
}

async fn queues(azurite: Azurite) {
    let opened = |permissions| {
        let signature = account_signature("q", "co", permissions);
        AzureQueues::new(&format!("{}/", azurite.queue_endpoint()), signature).unwrap()
    };
    let deliver = queues::case("queues::deliver_what_was_sent_until_it_is_removed");
    (deliver.run)(Arc::new(opened("rwdlacup"))).await;
    let error = opened("r").create("jobs").await.unwrap_err();
    assert_eq!(error.kind, QueueErrorKind::Forbidden);
    let wrong = SharedKey::new(ACCOUNT, "d3Jvbmc=").unwrap();
    let wrong = AzureQueues::new(&azurite.queue_endpoint(), wrong).unwrap();
    assert_eq!(wrong.create("jobs").await.unwrap_err().kind, QueueErrorKind::Forbidden);
}

/// The signature stays as it is; the policy decides what it is worth.
async fn policy(azurite: Azurite) {
    let subject = subject(&azurite).await;
    let owner = AzureStore::from_connection_string(&azurite.connection_string()).unwrap();
    let table = &subject.table;
    assert_eq!(owner.access_policies(table).await.unwrap(), []);
    let hour = OffsetDateTime::now_utc().replace_nanosecond(0).unwrap() + Duration::hours(1);
    // Azurite refuses a policy that does not state all three.
    let start = Some(hour - Duration::hours(2));
    let of = |permissions| {
        let policy = AccessPolicy::new("spectators & more", permissions, hour);
        AccessPolicy { start, ..policy }
    };
    let signature = TableSas::of_policy(table.clone(), "spectators & more").allow_http();
    let credential = signature.credential(&key()).unwrap();
    let client = AzureStore::new(&azurite.endpoint(), credential).unwrap();
    let read = || client.get(table, "p", "r", None, Metadata::None);
    let write = || client.write(table, "p", insert("p", "r", ""));
    assert_unauthorized(&read().await.unwrap_err());

    let others = AccessPolicy { id: "others".into(), ..of(Permissions::DELETE) };
    let policies = [of(Permissions::READ), others.clone()];
    owner.set_access_policies(table, &policies).await.unwrap();
    assert_eq!(owner.access_policies(table).await.unwrap(), policies);
    assert!(read().await.unwrap().is_none());
    assert_unauthorized(&write().await.unwrap_err());

    let both = Permissions::READ | Permissions::ADD;
    owner.set_access_policies(table, &[of(both), others.clone()]).await.unwrap();
    write().await.unwrap();
    assert!(read().await.unwrap().is_some());

    owner.set_access_policies(table, &[others]).await.unwrap();
    assert_unauthorized(&read().await.unwrap_err());
    assert_unauthorized(&client.access_policies(table).await.unwrap_err());
    owner.set_access_policies(table, &[]).await.unwrap();
    assert_eq!(owner.access_policies(table).await.unwrap(), []);
}

/// Policies are read as they were set, in their order, whatever they state. With `states_all`, each states its
/// start, its expiry and its permissions: the service refuses others.
pub async fn policies(connection_string: &str, states_all: bool) {
    let owner = AzureStore::from_connection_string(connection_string).unwrap();
    let subject = Subject::new(owner.clone()).await;
    let table = &subject.table;
    let now = OffsetDateTime::now_utc().replace_nanosecond(0).unwrap();
    let all = [
        Permissions::READ,
        Permissions::ADD | Permissions::READ,
        Permissions::DELETE | Permissions::UPDATE | Permissions::ADD,
        Permissions::DELETE | Permissions::READ,
        Permissions::READ | Permissions::ADD | Permissions::UPDATE | Permissions::DELETE,
    ];
    let ids = ["z", "a", "ü & <b>", "with space", &"x".repeat(64)];
    let mut set: Vec<_> = ids
        .iter()
        .zip(all)
        .zip(1..)
        .map(|((id, permissions), days)| {
            let policy = AccessPolicy::new(*id, permissions, now + Duration::days(400 * days));
            AccessPolicy { start: Some(now - Duration::seconds(days)), ..policy }
        })
        .collect();
    if !states_all {
        set[0].start = None;
        set[1].expiry = None;
        set[2].permissions = None;
    }
    owner.set_access_policies(table, &set).await.unwrap();
    assert_eq!(owner.access_policies(table).await.unwrap(), set);
    // The next call replaces all of them, and one that is refused none.
    set.reverse();
    set.truncate(3);
    owner.set_access_policies(table, &set).await.unwrap();
    let six = vec![set[0].clone(); 6];
    assert!(owner.set_access_policies(table, &six).await.is_err());
    assert_eq!(owner.access_policies(table).await.unwrap(), set);
    // A fraction of a second is left out.
    let expiry = set[0].expiry.map(|at| at + Duration::milliseconds(750));
    let finer = AccessPolicy { expiry, ..set[0].clone() };
    owner.set_access_policies(table, &[finer]).await.unwrap();
    assert_eq!(owner.access_policies(table).await.unwrap(), set[..1]);
    owner.set_access_policies(table, &[]).await.unwrap();
    assert_eq!(owner.access_policies(table).await.unwrap(), []);
    owner.delete_table(table).await.unwrap();
    assert!(owner.access_policies(table).await.is_err());
}

async fn expires(azurite: Azurite) {
    let subject = subject(&azurite).await;
    let credential = sas(&subject, Permissions::READ, -1).credential(&key()).unwrap();
    let store = AzureStore::new(&azurite.endpoint(), credential).unwrap();
    let read = store.get(&subject.table, "p", "r", None, Metadata::None).await;
    assert_unauthorized(&read.unwrap_err());
}

fn assert_unauthorized(error: &StoreError) {
    assert_eq!(error.status, 403, "{error}");
    assert!(
        error.code.as_str().starts_with("Authori") || error.code.as_str().starts_with("Authent")
    );
}

async fn wrong_key(azurite: Azurite) {
    let key = SharedKey::new(ACCOUNT, "d3Jvbmc=").unwrap();
    let error = Tables::azure(&azurite.endpoint(), key).unwrap().list().await.unwrap_err();
    assert!(matches!(error, Error::Unauthorized(_)), "{error}");
    assert_unauthorized(&error.rejection().unwrap().cause);
}

async fn metadata(azurite: Azurite) {
    let subject = subject(&azurite).await;
    subject.insert("p", "r", r#""A":"5","A@odata.type":"Edm.Int64""#).await;
    for (metadata, annotated) in [(Metadata::None, false), (Metadata::Minimal, true)] {
        let mut query = subject.query(Span::All, Span::All);
        query.metadata = metadata;
        let rows = subject.rows(query).await;
        assert_eq!(rows[0].contains_key("A@odata.type"), annotated);
        let row = subject.store.get(&subject.table, "p", "r", None, metadata).await.unwrap();
        let body = String::from_utf8(row.unwrap().body.to_vec()).unwrap();
        assert_eq!(body.contains("A@odata.type"), annotated);
    }
}
