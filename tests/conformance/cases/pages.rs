use crate::subject::{Subject, delete, insert, page_rows};
use futures_util::TryStreamExt as _;
use table_orm::DynamicEntity;
use table_orm::query::{PageToken, Span};
use table_orm::repo::RowPage;
use table_orm::store::ErrorCode;

const ROWS: usize = 2_500;

async fn fill(subject: &Subject, rows: usize) {
    let keys: Vec<String> = (0..rows).map(|row| format!("{row:05}")).collect();
    for keys in keys.chunks(99) {
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
        match page.next {
            Some(next) => token = Some(next),
            None => break,
        }
    }
    assert!(keys.into_iter().eq((0..25).map(|row| format!("{row:05}"))));
}

pub async fn are_walked_back_by_their_tokens(subject: Subject) {
    fill(&subject, 25).await;
    let keys = |page: &RowPage<DynamicEntity>| {
        page.items.iter().map(|row| row.row_key.clone()).collect::<Vec<_>>()
    };
    let read = async |token: Option<PageToken>| {
        let pages = subject.dynamic().list("p", ..).pages(4);
        let mut pages = match token {
            Some(token) => pages.resume(token.to_string().parse().unwrap()),
            None => pages,
        };
        pages.next().await.unwrap().unwrap()
    };
    let mut pages = vec![read(None).await];
    while let Some(next) = pages[pages.len() - 1].next.clone() {
        pages.push(read(Some(next)).await);
    }
    assert!(pages.iter().flat_map(keys).eq((0..25).map(|row| format!("{row:05}"))));
    let mut at = pages[pages.len() - 1].clone();
    for before in pages.iter().rev().skip(1) {
        at = read(at.previous).await;
        assert_eq!(keys(&at), keys(before));
    }
    assert_eq!(at.previous, None);
    // Other rows now: the page shows its keys, and the page after it starts where it did.
    let second = read(at.next).await;
    subject.commit("p", vec![delete("00001"), delete("00002")]).await.unwrap();
    subject.insert("p", "000035", "").await;
    let first = read(second.previous.clone()).await;
    assert_eq!(keys(&first), ["00000", "00003", "000035"]);
    assert_eq!(keys(&read(first.next).await), keys(&second));
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
