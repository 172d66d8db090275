use crate::subject::{Subject, insert, page_rows};
use futures_util::TryStreamExt as _;
use table_orm::query::{PageToken, Span};
use table_orm::store::ErrorCode;

const ROWS: usize = 2_500;

async fn fill(subject: &Subject, rows: usize) {
    let keys: Vec<String> = (0..rows).map(|row| format!("{row:05}")).collect();
    for keys in keys.chunks(100) {
        let operations = keys.iter().map(|key| insert("p", key, r#""A":1"#)).collect();
        subject.commit("p", operations).await.unwrap();
    }
}

pub async fn hold_every_row_once_in_order(subject: Subject) {
    fill(&subject, ROWS).await;
    let expected = || (0..ROWS).map(|row| format!("{row:05}"));
    let keys = subject.keys(subject.query(Span::Exact("p".into()), Span::All)).await;
    assert!(keys.into_iter().map(|(_, row_key)| row_key).eq(expected()));
    let stream = subject.dynamic().list("p", ..).stream();
    let rows: Vec<_> = stream.try_collect().await.unwrap();
    assert!(rows.into_iter().map(|row| row.row_key).eq(expected()));
}

pub async fn resume_from_a_token(subject: Subject) {
    fill(&subject, 25).await;
    let mut keys = Vec::new();
    let mut token: Option<PageToken> = None;
    loop {
        let pages = subject.dynamic().list("p", ..).pages(10);
        let mut pages = match token.take() {
            Some(token) => pages.resume(token.to_string().parse().unwrap()),
            None => pages,
        };
        let Some(page) = pages.next().await.unwrap() else { break };
        assert!(page.items.len() <= 10);
        keys.extend(page.items.into_iter().map(|row| row.row_key));
        match page.token {
            Some(next) => token = Some(next),
            None => break,
        }
    }
    assert!(keys.into_iter().eq((0..25).map(|row| format!("{row:05}"))));
}

pub async fn are_never_larger_than_asked(subject: Subject) {
    fill(&subject, 5).await;
    let mut query = subject.query(Span::Exact("p".into()), Span::All);
    query.top = Some(3);
    let page = subject.store.query(&query).await.unwrap();
    assert_eq!(page_rows(&page).len(), 3);
    query.continuation = page.continuation;
    assert_eq!(page_rows(&subject.store.query(&query).await.unwrap()).len(), 2);
    for top in [0, 1001] {
        query.top = Some(top);
        let error = subject.store.query(&query).await.unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_INPUT);
    }
}
