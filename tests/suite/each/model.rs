//! Random calls: afterwards the stored rows are those that a model of the templates expects.

use super::{Article, ArticlePatch, Blog, Mood};
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use support::dose;
use table_orm::EntityKeys;

#[derive(Debug, Clone)]
enum Step {
    Insert(Article),
    InsertMany(Vec<Article>),
    Upsert(Article),
    Replace(Article),
    Save(Article),
    Update(u32, Vec<String>),
    Merge(u32, Vec<String>, bool),
    LoadByLabel(String, Vec<u16>),
    Transaction(Article, Article),
    Delete(u32),
    DeleteBlind(u32),
    DeletePartition,
}

fn label() -> impl Strategy<Value = String> {
    prop::sample::select(vec!["a", "b", "B", "c", "ab", "\u{e9}", "a_b"]).prop_map(str::to_owned)
}

fn article() -> impl Strategy<Value = Article> {
    let mood = prop::sample::select(vec![Mood::Bad, Mood::Good]);
    let collections = (
        vec(label(), 0..5),
        vec(2020..2024_u16, 0..4),
        option::of(btree_set(mood, 0..3)),
        [-2..2_i16, -2..2_i16],
    );
    (0..4_u32, 0..3_u8, any::<bool>(), collections).prop_map(|(number, title, is_public, all)| {
        let (labels, years, moods, shifts) = all;
        Article {
            blog: "B".into(),
            number,
            title: format!("T{title}"),
            text: format!("X{title}"),
            slug: (title == 0).then(|| format!("s{number}")),
            is_public,
            labels,
            years,
            moods,
            shifts,
        }
    })
}

fn step() -> impl Strategy<Value = Step> {
    let labels = || vec(label(), 0..5);
    prop_oneof![
        article().prop_map(Step::Insert),
        vec(article(), 0..4).prop_map(Step::InsertMany),
        article().prop_map(Step::Upsert),
        article().prop_map(Step::Replace),
        article().prop_map(Step::Save),
        article().prop_map(Step::Save),
        (0..4_u32, labels()).prop_map(|(number, labels)| Step::Update(number, labels)),
        (0..4_u32, labels(), any::<bool>())
            .prop_map(|(number, labels, is_public)| { Step::Merge(number, labels, is_public) }),
        (label(), vec(2020..2024_u16, 0..4))
            .prop_map(|(label, years)| { Step::LoadByLabel(label, years) }),
        (article(), article()).prop_map(|(one, two)| Step::Transaction(one, two)),
        (0..4_u32).prop_map(Step::Delete),
        (0..4_u32).prop_map(Step::DeleteBlind),
        Just(Step::DeletePartition),
    ]
}

type Model = BTreeMap<u32, Article>;

/// The RowKeys that the templates of the type stand for, written by hand.
fn expected(articles: &Model) -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for article in articles.values() {
        let number = article.number;
        keys.insert(format!("ART:{number:08}"));
        keys.extend(article.slug.iter().map(|slug| format!("UNQ:slug:{slug}")));
        for label in &article.labels {
            keys.insert(format!("LAB:{label}__{number:08}"));
            keys.insert(format!("WORD:{}__{number:08}", label.to_lowercase()));
        }
        keys.extend(article.years.iter().map(|year| format!("YEAR:{year:04}__{number:08}")));
        for mood in article.moods.iter().flatten().filter(|_| article.is_public) {
            let mood = if *mood == Mood::Good { "GOOD" } else { "BAD" };
            keys.insert(format!("MOOD:{mood}__{number:08}"));
        }
        for shift in article.shifts {
            keys.insert(format!("SHIFT:{number:08}__{:05}", i32::from(shift) + 32_768));
        }
    }
    keys
}

/// Makes a call, and the same change of the model. Returns the most transactions that it may take.
async fn apply(blog: &Blog, model: &mut Model, step: Step) -> usize {
    let articles = &blog.articles;
    let key = |number| Article::partition("B").by_number().number(number);
    match step {
        Step::Insert(article) => {
            let is_new = !model.contains_key(&article.number);
            assert_eq!(articles.insert(&article).await.is_ok(), is_new);
            model.entry(article.number).or_insert(article);
        }
        Step::InsertMany(mut many) => {
            many.retain(|article| !model.contains_key(&article.number));
            many.sort_by_key(|article| article.number);
            many.dedup_by_key(|article| article.number);
            model.extend(many.iter().map(|article| (article.number, article.clone())));
            articles.insert_many(many).await.all().unwrap();
        }
        Step::Upsert(article) => {
            articles.upsert(&article).await.unwrap();
            model.insert(article.number, article);
        }
        Step::Replace(article) => {
            let replaced = articles.force_replace(&article).await;
            assert_eq!(replaced.is_ok(), model.contains_key(&article.number));
            model.entry(article.number).and_modify(|stored| *stored = article);
        }
        Step::Save(article) => {
            let Some(mut loaded) = articles.load(article.key()).await.unwrap().optional().unwrap()
            else {
                return 0;
            };
            *loaded = article.clone();
            articles.save(&mut loaded).await.unwrap();
            model.insert(article.number, article);
        }
        Step::Update(number, labels) => {
            let updated =
                articles.update(key(number), |article| article.labels.clone_from(&labels));
            assert_eq!(updated.await.is_ok(), model.contains_key(&number));
            model.entry(number).and_modify(|article| article.labels = labels);
        }
        Step::Merge(number, labels, is_public) => {
            let patch = ArticlePatch::default().labels(labels.clone()).is_public(is_public);
            let merged = articles.merge(key(number), patch).await;
            assert_eq!(merged.is_ok(), model.contains_key(&number));
            model.entry(number).and_modify(|article| {
                article.labels = labels;
                article.is_public = is_public;
            });
        }
        Step::LoadByLabel(label, years) => {
            let rows = Article::partition("B").by_label().label(label.as_str());
            let loaded = articles.load(rows).await.unwrap();
            let mut changed = 0;
            for mut article in loaded {
                article.years.clone_from(&years);
                articles.save(article).await.unwrap();
                changed += 1;
            }
            for article in model.values_mut().filter(|article| article.labels.contains(&label)) {
                article.years.clone_from(&years);
                changed -= 1;
            }
            assert_eq!(changed, 0);
            return model.len();
        }
        Step::Transaction(one, two) => {
            let (one_key, two_key) = (one.number, two.number);
            if one_key == two_key {
                return 0;
            }
            let mut transaction = blog.tables.transaction(Article::partition("B"));
            for new in [one, two] {
                let stored = articles.load(new.key()).await.unwrap().optional().unwrap();
                transaction = match stored {
                    Some(mut loaded) => {
                        *loaded = new.clone();
                        transaction.save(loaded)
                    }
                    None => transaction.insert(&new),
                };
                model.insert(new.number, new);
            }
            transaction.commit().await.unwrap();
        }
        Step::Delete(number) => {
            let loaded = articles.load(key(number)).await.unwrap().optional().unwrap();
            if let Some(loaded) = loaded {
                articles.delete(loaded).await.unwrap();
            }
            model.remove(&number);
        }
        Step::DeleteBlind(number) => {
            if let Some(article) = model.remove(&number) {
                // What is deleted are the rows that are stored, whatever the entity says.
                let other = Article { labels: Vec::new(), years: vec![1999], ..article };
                articles.force_delete(&other).await.unwrap();
            }
        }
        Step::DeletePartition => {
            articles.delete_partition(Article::partition("B")).await.unwrap();
            model.clear();
        }
    }
    1
}

async fn check(steps: Vec<Step>) {
    let blog = Blog::new().await;
    let mut model = Model::new();
    for step in steps {
        blog.requests.take();
        let what = format!("{step:?}");
        let transactions = apply(&blog, &mut model, step).await;
        let sent = blog.requests.take().writes.len();
        assert!(sent <= transactions, "{sent} transactions: {what}");
        let stored: BTreeSet<_> = blog.keys("").await.into_iter().collect();
        assert_eq!(stored, expected(&model), "{what}");
        let found = blog.articles.verify(Article::partition("B")).await.unwrap();
        assert_eq!((found.findings, found.undecided), (Vec::new(), 0), "{what}");
        let read = blog.articles.list(Article::partition("B")).collect().await.unwrap();
        assert_eq!(read, model.values().cloned().collect::<Vec<_>>(), "{what}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(dose(96, 4096)))]
    #[test]
    fn after_every_call_the_rows_are_those_of_the_elements_and_one_transaction_wrote_them(
        steps in vec(step(), 1..16),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check(steps));
    }
}
