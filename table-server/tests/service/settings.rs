//! The properties and the stats of the service.

use crate::client::{Client, code, key, request, signed, text};
use std::sync::Arc;
use table_orm::embedded::EmbeddedStore;
use table_server::{Response, TableService};

const PROPERTIES: &str = "/?restype=service&comp=properties";

async fn over(store: &EmbeddedStore) -> Client {
    Client { service: TableService::new(Arc::new(store.clone()), key()).await.unwrap() }
}

async fn set(client: &Client, sections: &str) -> Response {
    let document = format!("<StorageServiceProperties>{sections}</StorageServiceProperties>");
    client.send("PUT", PROPERTIES, &[], &document).await
}

async fn get(client: &Client) -> String {
    let response = client.send("GET", PROPERTIES, &[], "").await;
    assert_eq!((response.status, response.header("content-type")), (200, Some("application/xml")));
    text(&response).to_owned()
}

const LOGGING: &str = "<Logging><Version>1.0</Version><Read>true</Read><Write>false</Write><Delete>true</Delete>\
    <RetentionPolicy><Enabled>true</Enabled><Days>7</Days></RetentionPolicy></Logging>";
const HOURS: &str = "<HourMetrics><Version>1.0</Version><Enabled>true</Enabled><IncludeAPIs>false</IncludeAPIs>\
    <RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></HourMetrics>";
const MINUTES: &str = "<MinuteMetrics><Version>1.0</Version><Enabled>false</Enabled>\
    <RetentionPolicy><Enabled>false</Enabled></RetentionPolicy></MinuteMetrics>";
const CORS: &str = "<Cors><CorsRule><AllowedOrigins>https://race.example</AllowedOrigins>\
    <AllowedMethods>GET</AllowedMethods><AllowedHeaders>x-ms-*</AllowedHeaders>\
    <ExposedHeaders>x-ms-*</ExposedHeaders><MaxAgeInSeconds>60</MaxAgeInSeconds></CorsRule></Cors>";

#[tokio::test]
async fn properties_are_read_back_as_they_were_set_also_after_a_restart() {
    let store = EmbeddedStore::in_memory().unwrap();
    let client = over(&store).await;
    let initial = get(&client).await;
    for section in ["Logging", "HourMetrics", "MinuteMetrics", "Cors"] {
        assert_eq!(initial.matches(&format!("<{section}>")).count(), 1, "{initial}");
    }
    let whole = [LOGGING, HOURS, MINUTES, CORS].concat();
    let response = set(&client, &whole).await;
    assert_eq!((response.status, response.body.len()), (202, 0));
    let expected = format!("<StorageServiceProperties>{whole}</StorageServiceProperties>");
    for client in [client, over(&store).await] {
        let read = get(&client).await;
        assert!(read.starts_with("<?xml ") && read.ends_with(&expected), "{read}");
    }
}

#[tokio::test]
async fn a_section_that_is_left_out_stays() {
    let client = Client::new().await;
    set(&client, &[LOGGING, HOURS, CORS].concat()).await;
    let other = LOGGING.replace("<Days>7</Days>", "<Days>365</Days>");
    assert_eq!(set(&client, &other).await.status, 202);
    let read = get(&client).await;
    assert!([&*other, HOURS, CORS].iter().all(|section| read.contains(section)), "{read}");
    // An empty section removes its rules.
    assert_eq!(set(&client, "<Cors/>").await.status, 202);
    let read = get(&client).await;
    assert!(read.contains("<Cors></Cors>") && read.contains(&other), "{read}");
}

#[tokio::test]
async fn invalid_properties_are_refused_and_change_nothing() {
    let client = Client::new().await;
    set(&client, &[LOGGING, CORS].concat()).await;
    let before = get(&client).await;
    let rule = CORS.trim_start_matches("<Cors>").trim_end_matches("</Cors>");
    for (sections, expected) in [
        (LOGGING.replace("<Days>7</Days>", "<Days>366</Days>"), "InvalidXmlNodeValue"),
        (LOGGING.replace("<Days>7</Days>", "<Days>0</Days>"), "InvalidXmlNodeValue"),
        (LOGGING.replace("<Read>true", "<Read>perhaps"), "InvalidXmlNodeValue"),
        (LOGGING.replace("<Write>false</Write>", ""), "InvalidXmlDocument"),
        (HOURS.replace("<Enabled>true", "<Enabled>false"), "InvalidXmlNodeValue"),
        (format!("<Cors>{}</Cors>", rule.repeat(6)), "InvalidXmlNodeValue"),
        (CORS.replace("60", "-1"), "InvalidXmlNodeValue"),
        (CORS.replace("<AllowedMethods>GET", "<AllowedMethods>FETCH"), "InvalidXmlNodeValue"),
        ("<Logging>".to_owned(), "InvalidXmlDocument"),
    ] {
        let refused = client
            .send(
                "PUT",
                PROPERTIES,
                &[],
                &format!("<StorageServiceProperties>{sections}</StorageServiceProperties>"),
            )
            .await;
        let found = text(&refused);
        assert_eq!(refused.status, 400, "{sections}: {found}");
        assert!(found.contains(&format!("<Code>{expected}</Code>")), "{sections}: {found}");
    }
    for body in ["", "{}", "<Other/>"] {
        assert_eq!(client.send("PUT", PROPERTIES, &[], body).await.status, 400, "{body}");
    }
    assert_eq!(get(&client).await, before);
}

#[tokio::test]
async fn stats_are_those_of_the_secondary_location() {
    let client = Client::new().await;
    let stats = "/?restype=service&comp=stats";
    let mut secondary = request("GET", stats, &[], "");
    secondary.target = secondary.target.replacen("account1", "account1-secondary", 1);
    let answer = client.answer(signed(secondary)).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/xml")));
    let body = text(&answer);
    let time = body.split_once("<LastSyncTime>").unwrap().1.split_once('<').unwrap().0;
    let expected = format!(
        "<StorageServiceStats><GeoReplication><Status>live</Status><LastSyncTime>{time}</LastSyncTime>\
         </GeoReplication></StorageServiceStats>"
    );
    assert!(body.ends_with(&expected), "{body}");
    let age = table_orm::azure::protocol::http_date::parse(time).unwrap().elapsed();
    assert!(age.is_ok_and(|age| age.as_secs() < 60), "{time}");
    let primary = client.send("GET", stats, &[], "").await;
    assert!(text(&primary).contains("<Code>InvalidQueryParameterValue</Code>"));
    assert_eq!(primary.status, 400);
    // Nobody reads them without a credential.
    for path in [stats, PROPERTIES] {
        assert_eq!(client.answer(request("GET", path, &[], "")).await.status, 403, "{path}");
    }
    assert_eq!(code(&primary), "", "the error is XML");
}
