use super::*;

fn name(text: &str) -> TableName {
    TableName::new(text).unwrap()
}

#[tokio::test]
async fn table_names_ignore_case_and_keep_their_spelling() {
    let store = store();
    for text in ["Zebra", "apple", "Mango"] {
        store.create_table(&name(text)).await.unwrap();
    }
    rejected(store.create_table(&name("zEBRA")).await, &ErrorCode::TABLE_ALREADY_EXISTS);
    let tables = store.list_tables().await.unwrap();
    assert_eq!(tables, [name("apple"), name("Mango"), name("Zebra")]);

    let upper = Fixture { store: store.clone(), table: name("ZEBRA") };
    upper.insert("p", "r", "{}").await;
    let lower = Fixture { store: store.clone(), table: name("zebra") };
    assert!(lower.get("p", "r").await.is_some());
    assert_eq!(lower.keys(lower.query(KeyRange::ALL)).await.0.len(), 1);

    store.delete_table(&name("ZeBrA")).await.unwrap();
    assert_eq!(store.list_tables().await.unwrap(), [name("apple"), name("Mango")]);
}

#[tokio::test]
async fn a_deleted_table_is_gone_with_its_rows() {
    let people = fixture().await;
    people.insert("p", "r", "{}").await;
    people.store.delete_table(&people.table).await.unwrap();
    rejected(people.store.delete_table(&people.table).await, &ErrorCode::RESOURCE_NOT_FOUND);
    people.store.create_table(&people.table).await.unwrap();
    assert_eq!(people.get("p", "r").await, None);
}

#[tokio::test]
async fn a_missing_table_is_named() {
    let store = store();
    let nowhere = Fixture { store, table: name("Nowhere") };
    let code = &ErrorCode::TABLE_NOT_FOUND;
    rejected(nowhere.write("p", "r", Action::Insert(json("{}"))).await, code);
    rejected(nowhere.commit(vec![insert("r", "{}")]).await, code);
    rejected(nowhere.store.query(&nowhere.query(KeyRange::ALL)).await, code);
    let error =
        rejected(nowhere.store.get(&nowhere.table, "p", "r", None, Metadata::None).await, code);
    assert!(error.message.contains("Nowhere"), "{error}");
    let error = rejected(nowhere.write("p", "r", Action::Delete(IfMatch::Any)).await, code);
    assert!(error.message.to_lowercase().contains("nowhere"), "{error}");
}
