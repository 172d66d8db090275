//! Numbers in reports, as people read them.

/// A whole number with a comma before each three digits.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number without a fraction, with commas.
pub(crate) fn rounded(number: f64) -> String {
    grouped(number.round() as u64)
}

/// So many things of that name, which takes an `s`.
pub(crate) fn counted(number: u64, name: &str) -> String {
    format!("{} {name}{}", grouped(number), if number == 1 { "" } else { "s" })
}

/// Bytes in the largest unit of which there is one.
pub(crate) fn bytes(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let power = (bytes.ilog2() / 10) as usize;
    let number = bytes as f64 / (1_u64 << (10 * power)) as f64;
    // A power of two has no digits after the point.
    let digits = usize::from(number.fract() > 0.0);
    format!("{number:.digits$} {}", UNITS[power - 1])
}
