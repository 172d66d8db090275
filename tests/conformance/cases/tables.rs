use crate::subject::{Subject, fresh_name, row};
use table_orm::TableName;
use table_orm::model::Metadata;
use table_orm::query::Span;
use table_orm::store::{Action, ErrorCode};

pub async fn are_created_listed_and_deleted(subject: Subject) {
    let Subject { store, table } = subject;
    let second = fresh_name();
    store.create_table(&second).await.unwrap();
    let listed = store.list_tables().await.unwrap();
    assert!(listed.contains(&table) && listed.contains(&second));
    assert!(listed.is_sorted_by_key(|name| name.as_str().to_ascii_lowercase()));
    store.delete_table(&second).await.unwrap();
    assert!(!store.list_tables().await.unwrap().contains(&second));
}

pub async fn exist_once_whatever_their_case(subject: Subject) {
    let again = TableName::new(&subject.table.as_str().to_ascii_lowercase()).unwrap();
    for name in [&subject.table, &again] {
        let error = subject.store.create_table(name).await.unwrap_err();
        assert_eq!((error.code, error.status), (ErrorCode::TABLE_ALREADY_EXISTS, 409));
    }
}

pub async fn absent_cannot_be_deleted(subject: Subject) {
    let error = subject.store.delete_table(&fresh_name()).await.unwrap_err();
    assert_eq!((error.code, error.status), (ErrorCode::RESOURCE_NOT_FOUND, 404));
}

pub async fn absent_hold_no_rows(subject: Subject) {
    let nowhere = Subject { table: fresh_name(), ..subject };
    let insert = Action::Insert(row("p", "r", ""));
    let errors = [
        nowhere.store.get(&nowhere.table, "p", "r", None, Metadata::None).await.unwrap_err(),
        nowhere.store.query(&nowhere.query(Span::All, Span::All)).await.unwrap_err(),
        nowhere.write("p", "r", insert).await.unwrap_err(),
        nowhere.commit("p", vec![crate::subject::insert("p", "r", "")]).await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.code, error.status), (ErrorCode::TABLE_NOT_FOUND, 404));
    }
}
