//! Whether one key can fit two templates, decided while the types compile.
//!
//! Each template is a finite automaton over bytes that accepts what [`KeyTemplate::takes`] takes, or
//! more where only a type knows its texts. The automata run side by side. Invariant: where a key
//! exists that both templates take, they reach their ends together.

use super::alphabet::alphabet;
use super::shape::fits;
use super::{KeyTemplate, Shape};

/// The most pairs of states that are distinguished; with more, the templates count as meeting.
const MAX_PAIRS: usize = 1 << 18;
/// The most pairs that wait.
const MAX_WAITING: usize = 4096;
/// The most states that one byte leads to: codes with one start.
const MAX_MOVES: usize = 256;

/// A place in a template: within the literal at its start (segment 0), or within a component and
/// the literal after it.
#[derive(Clone, Copy)]
struct State {
    segment: usize,
    at: usize,
}

/// The states that a byte leads to.
struct Moves {
    states: [State; MAX_MOVES],
    len: usize,
    too_many: bool,
}

impl Moves {
    const fn new() -> Self {
        Self { states: [State { segment: 0, at: 0 }; MAX_MOVES], len: 0, too_many: false }
    }

    const fn push(&mut self, state: State) {
        if self.len == MAX_MOVES {
            self.too_many = true;
        } else {
            self.states[self.len] = state;
            self.len += 1;
        }
    }
}

impl KeyTemplate<'_> {
    /// Returns whether a key may exist that both templates [take](Self::takes). `false` is certain. `true` may be
    /// wrong for types that state no [shape](Shape), single characters, which count as text, codes and
    /// numbers that contain the separator after them, and templates of very many states.
    #[must_use]
    pub const fn meets(&self, other: &KeyTemplate<'_>) -> bool {
        let (left, right) = (self.start.as_bytes(), other.start.as_bytes());
        let mut at = 0;
        while at < left.len() && at < right.len() {
            if left[at] != right[at] {
                return false;
            }
            at += 1;
        }
        self.meet(other)
    }

    const fn meet(&self, other: &KeyTemplate<'_>) -> bool {
        let width = other.states();
        if self.states() * width > MAX_PAIRS {
            return true;
        }
        let (bytes, count) = alphabet(self, other);
        let mut seen = [0_u64; MAX_PAIRS / 64];
        let mut waiting = [(State { segment: 0, at: 0 }, State { segment: 0, at: 0 }); MAX_WAITING];
        waiting[0] = (self.from(0, 0), other.from(0, 0));
        let mut left = 1;
        while left > 0 {
            left -= 1;
            let (own, others) = waiting[left];
            if self.is_end(own) && other.is_end(others) {
                return true;
            }
            let mut at = 0;
            while at < count {
                let (mut ours, mut theirs) = (Moves::new(), Moves::new());
                self.step(own, bytes[at], &mut ours);
                at += 1;
                if ours.len == 0 {
                    continue;
                }
                other.step(others, bytes[at - 1], &mut theirs);
                if ours.too_many || theirs.too_many {
                    return true;
                }
                let mut pair = 0;
                while pair < ours.len * theirs.len {
                    let next = (ours.states[pair / theirs.len], theirs.states[pair % theirs.len]);
                    pair += 1;
                    let id = self.id(next.0) * width + other.id(next.1);
                    if seen[id / 64] >> (id % 64) & 1 == 1 {
                        continue;
                    }
                    seen[id / 64] |= 1 << (id % 64);
                    if left == MAX_WAITING {
                        return true;
                    }
                    waiting[left] = next;
                    left += 1;
                }
            }
        }
        false
    }

    /// The states of a segment: those of its component, then those of its literal.
    const fn size(&self, segment: usize) -> usize {
        self.component_size(segment) + self.ending(segment).len()
    }

    /// The states of a segment's component. One of unknown length is read up to its literal, whose
    /// states count here.
    const fn component_size(&self, segment: usize) -> usize {
        match self.shape(segment) {
            None => 0,
            Some(Shape::Number(width)) => width,
            Some(Shape::OneOf(texts)) => {
                let (mut size, mut at) = (1, 0);
                while at < texts.len() {
                    size += texts[at].len();
                    at += 1;
                }
                size
            }
            Some(shape) => match shape.fixed() {
                Some(width) => width,
                None if self.parts[segment - 1].separator.is_empty() => 1,
                None => self.parts[segment - 1].separator.len(),
            },
        }
    }

    const fn shape(&self, segment: usize) -> Option<Shape> {
        if segment == 0 { None } else { Some(self.parts[segment - 1].shape) }
    }

    /// The literal that ends a segment; empty where the component reads it.
    const fn ending(&self, segment: usize) -> &[u8] {
        match self.shape(segment) {
            None => self.start.as_bytes(),
            Some(shape) if is_text(shape) => &[],
            Some(_) => self.parts[segment - 1].separator.as_bytes(),
        }
    }

    /// The state at that place of a segment, or at the start of the next one that has states.
    const fn from(&self, mut segment: usize, mut at: usize) -> State {
        while segment <= self.parts.len() && at == self.size(segment) {
            (segment, at) = (segment + 1, 0);
        }
        State { segment, at }
    }

    const fn id(&self, state: State) -> usize {
        let (mut id, mut segment) = (state.at, 0);
        while segment < state.segment {
            id += self.size(segment);
            segment += 1;
        }
        id
    }

    const fn states(&self) -> usize {
        self.id(State { segment: self.parts.len() + 1, at: 0 }) + 1
    }

    /// Where the key goes on after a component that may end in this state.
    const fn behind(&self, State { segment, at }: State) -> Option<State> {
        let size = self.component_size(segment);
        let may_end = match self.shape(segment) {
            Some(Shape::Number(_)) => at > 0 && at < size,
            Some(Shape::OneOf(texts)) => at == 0 && has_empty(texts),
            Some(shape) => is_text(shape) && self.parts[segment - 1].separator.is_empty(),
            None => false,
        };
        if may_end { Some(self.from(segment, size)) } else { None }
    }

    /// Whether a key may end in this state.
    const fn is_end(&self, state: State) -> bool {
        if state.segment > self.parts.len() {
            return true;
        }
        match self.behind(state) {
            Some(behind) => self.is_end(behind),
            None => false,
        }
    }

    /// The states that a byte leads to.
    const fn step(&self, state: State, byte: u8, moves: &mut Moves) {
        let State { segment, at } = state;
        if segment > self.parts.len() {
            return;
        }
        if let Some(behind) = self.behind(state) {
            self.step(behind, byte, moves);
        }
        let size = self.component_size(segment);
        if at >= size {
            if self.ending(segment)[at - size] == byte {
                moves.push(self.from(segment, at + 1));
            }
            return;
        }
        let Some(shape) = self.shape(segment) else { return };
        let next = match shape {
            Shape::Digits(_) if !byte.is_ascii_digit() => return,
            Shape::Pattern(pattern) if !fits(pattern.as_bytes()[at], byte) => return,
            Shape::Number(_) if !byte.is_ascii_digit() => return,
            Shape::Number(_) if at == 0 && byte == b'0' => size,
            Shape::OneOf(texts) => return self.step_code(segment, at, texts, byte, moves),
            shape if is_text(shape) => {
                let separator = self.parts[segment - 1].separator.as_bytes();
                if separator.is_empty() { at } else { matched(separator, at, byte) }
            }
            // A fixed width is ASCII.
            _ if !byte.is_ascii() => return,
            _ => at + 1,
        };
        moves.push(self.from(segment, next));
    }

    /// The states after the byte of each code that has it there. State 0 is before the codes; each
    /// code has a state for each of its bytes, and the last of them is the component's end.
    const fn step_code(
        &self,
        segment: usize,
        at: usize,
        texts: &[&str],
        byte: u8,
        moves: &mut Moves,
    ) {
        let size = self.component_size(segment);
        let (mut first, mut code) = (1, 0);
        while code < texts.len() {
            let text = texts[code].as_bytes();
            let read = if at == 0 {
                Some(0)
            } else if at >= first && at < first + text.len() {
                Some(at - first + 1)
            } else {
                None
            };
            if let Some(read) = read
                && read < text.len()
                && text[read] == byte
            {
                let next = if read + 1 == text.len() { size } else { first + read };
                moves.push(self.from(segment, next));
            }
            first += text.len();
            code += 1;
        }
    }
}

const fn is_text(shape: Shape) -> bool {
    !matches!(shape, Shape::Number(_) | Shape::OneOf(_)) && shape.fixed().is_none()
}

const fn has_empty(texts: &[&str]) -> bool {
    let mut at = 0;
    while at < texts.len() {
        if texts[at].is_empty() {
            return true;
        }
        at += 1;
    }
    false
}

/// How many bytes of the separator are matched after this byte, when `at` were before it.
const fn matched(separator: &[u8], at: usize, byte: u8) -> usize {
    let mut length = at + 1;
    while length > 0 {
        // The last `length` bytes read: the end of the matched ones, and this byte.
        let mut same = separator[length - 1] == byte;
        let mut back = 0;
        while same && back + 1 < length {
            same = separator[back] == separator[at + 1 - length + back];
            back += 1;
        }
        if same {
            return length;
        }
        length -= 1;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dose::dose;
    use crate::key::{Ascending, Escape, KeyPart, Padded, Plain, TemplatePart, Width};
    use proptest::prelude::*;
    use proptest::sample::select;
    use std::sync::LazyLock;
    use uuid::Uuid;

    const ALPHABET: [char; 4] = ['0', '1', '_', 'a'];
    const LONGEST: usize = 7;

    /// Every text of the alphabet up to a length.
    static TEXTS: LazyLock<Vec<String>> = LazyLock::new(|| {
        let texts = (0..=LONGEST as u32).flat_map(|length| {
            (0..4_usize.pow(length)).map(move |number| {
                let digit = |at| ALPHABET[number / 4_usize.pow(at) % 4];
                (0..length).map(digit).collect()
            })
        });
        texts.collect()
    });

    fn shape() -> impl Strategy<Value = Shape> {
        select(vec![
            Shape::Digits(1),
            Shape::Digits(2),
            Shape::Number(1),
            Shape::Number(2),
            Shape::Number(3),
            Shape::Pattern("0a"),
            Shape::Pattern("a_0"),
            Shape::OneOf(&["0", "10"]),
            Shape::OneOf(&["00", "11"]),
            Shape::OneOf(&["1", "10", "100"]),
            Shape::Text,
            Shape::Text,
        ])
    }

    /// A start, and components with the literals after them.
    fn template() -> impl Strategy<Value = (&'static str, Vec<TemplatePart>)> {
        let separator = select(vec!["_", "__", "a", "_a", "_0", "aa"]);
        let part = (shape(), separator, any::<bool>()).prop_map(|(shape, separator, adjoins)| {
            let separator = if adjoins && shape.fixed().is_some() { "" } else { separator };
            TemplatePart::new("x", shape, separator)
        });
        let start = select(vec!["", "", "a", "a_", "_", "0"]);
        let parts = prop::collection::vec(part, 0..4);
        (start, parts, any::<bool>()).prop_map(|(start, mut parts, ends)| {
            if let (Some(last), false) = (parts.last_mut(), ends) {
                last.separator = "";
            }
            (start, parts)
        })
    }

    /// The bytes of the shortest key.
    fn shortest((start, parts): &(&str, Vec<TemplatePart>)) -> usize {
        let component = |part: &TemplatePart| match part.shape {
            Shape::Number(_) => 1,
            Shape::OneOf(texts) => texts.iter().map(|text| text.len()).min().unwrap_or_default(),
            shape => shape.fixed().unwrap_or_default(),
        };
        let parts = parts.iter().map(|part| component(part) + part.separator.len());
        start.len() + parts.sum::<usize>()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(dose(500, 20_000)))]

        /// No text that both take is missed, and templates are refused for such a text only.
        #[test]
        fn templates_meet_where_a_text_is_taken_by_both(left in template(), right in template()) {
            let one = KeyTemplate { start: left.0, parts: &left.1 };
            let other = KeyTemplate { start: right.0, parts: &right.1 };
            let takes = |text: &str| {
                one.takes(text, Escape::Reject) && other.takes(text, Escape::Reject)
            };
            let common = TEXTS.iter().find(|text| takes(text));
            let meets = one.meets(&other);
            prop_assert_eq!(meets, other.meets(&one));
            prop_assert!(meets || common.is_none(), "{:?}", common);
            let short = |template: &KeyTemplate<'_>| template.longest().is_some_and(|most| most <= LONGEST);
            if short(&one) || short(&other) || shortest(&left) + shortest(&right) <= 5 {
                prop_assert!(!meets || common.is_some(), "needlessly refused");
            }
        }
    }

    fn of<X, T: KeyPart<X>>(separator: &'static str) -> TemplatePart {
        TemplatePart::new("x", T::SHAPE, separator)
    }

    #[test]
    fn parents_and_children_do_not_meet_where_the_parents_key_has_an_end() {
        let issue = [of::<Padded<8>, u32>("")];
        let comment = [of::<Padded<8>, u32>("__C:"), of::<Plain, String>("")];
        let (head, line) = (
            [of::<Plain, String>("__HEAD")],
            [of::<Plain, String>("__LINE"), of::<Padded<3>, u16>("")],
        );
        let part = [of::<Plain, String>(":"), of::<Padded<2>, u8>("")];
        let piece = [of::<Plain, String>(":"), of::<Padded<2>, u8>(":"), of::<Padded<2>, u8>("")];
        let name = [of::<Plain, String>("")];
        let under_name = [of::<Plain, String>("__C:"), of::<Plain, String>("")];
        for (left, right, meets) in [
            (("ISS:", &issue[..]), ("ISS:", &comment[..]), false),
            (("", &head), ("", &line), false),
            (("", &part), ("", &piece), false),
            (("N:", &name), ("N:", &under_name), true),
            (("N:", &name), ("M:", &name), false),
            (("", &name), ("M:", &name), true),
            (("", &[of::<Plain, Uuid>("")]), ("", &[of::<Ascending, u64>("")]), false),
            (("", &[of::<Plain, Uuid>("")]), ("", &name), true),
            (
                ("", &[of::<Plain, bool>("_"), of::<Plain, u8>("")]),
                ("", &[of::<Plain, u8>("")]),
                false,
            ),
            (("", &[of::<Plain, char>("")]), ("x", &[]), true),
            (("", &[]), ("", &[]), true),
        ] {
            let template = |(start, parts)| KeyTemplate { start, parts };
            assert_eq!(template(left).meets(&template(right)), meets, "{left:?} {right:?}");
        }
    }

    /// A type that only `decode` distinguishes from others.
    struct Even;

    impl KeyPart for Even {
        const WIDTH: Width = Width::Fixed(1);

        fn encode(&self, key: &mut crate::key::KeyText) -> Result<(), crate::key::KeyFault> {
            key.push_text("2")
        }

        fn decode(text: &str) -> Result<Self, crate::key::KeyFault> {
            let even = ["0", "2", "4", "6", "8"].contains(&text);
            even.then_some(Self).ok_or(crate::key::KeyFault::Malformed)
        }
    }

    #[test]
    fn a_type_without_a_shape_takes_what_it_decodes_and_may_meet_all_of_its_width() {
        let (even, digit) = ([of::<Plain, Even>("")], [of::<Padded<1>, u8>("")]);
        let (even, digit) =
            (KeyTemplate { start: "", parts: &even }, KeyTemplate { start: "", parts: &digit });
        assert!(even.takes("2", Escape::Reject) && !even.takes("3", Escape::Reject));
        assert!(even.meets(&digit));
        assert!(!even.meets(&KeyTemplate { start: "", parts: &[of::<Padded<2>, u8>("")] }));
    }

    #[test]
    fn escaped_text_is_judged_without_its_escapes() {
        let char = [of::<Plain, char>("")];
        let char = KeyTemplate { start: "", parts: &char };
        assert!(char.takes("~2F", Escape::Encode) && !char.takes("~2F", Escape::Reject));
        assert!(!char.takes("~2Fx", Escape::Encode) && !char.takes("~", Escape::Encode));
    }
}
