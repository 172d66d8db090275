//! The known name nearest to a mistyped one.

/// The candidate that the fewest edits lead to, if these are at most a third of the word's length.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = word.chars().count().max(3) / 3;
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(edits, _)| *edits <= most)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// A help that names the nearest candidate, or all of them.
pub fn suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    if let Some(near) = nearest(word, candidates.clone()) {
        return format!("did you mean `{near}`?");
    }
    let all: Vec<_> = candidates.into_iter().map(|name| format!("`{name}`")).collect();
    if all.is_empty() {
        return "there is nothing to use here".to_owned();
    }
    format!("use one of {}", all.join(", "))
}

/// The number of insertions, deletions, replacements and swaps that turn one word into the other.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut rows: Vec<Vec<usize>> = vec![(0..=right.len()).collect()];
    for (i, a) in left.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in right.iter().enumerate() {
            let mut edits =
                (rows[i][j] + usize::from(a != b)).min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                edits = edits.min(rows[i - 1][j - 1] + 1);
            }
            row.push(edits);
        }
        rows.push(row);
    }
    rows[left.len()][right.len()]
}
