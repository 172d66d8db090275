//! The pages of `table-orm browse` in Chromium, driven through ChromeDriver.

use serde_json::{Value, json};
use std::future::IntoFuture as _;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use table_orm::book::{Book, BookFindingKind, Pattern, Prices, Sample};
use table_orm::layer::{Measure, as_pattern};
use table_orm::{DynamicEntity, ScanPermit, TableEntity, TableName, Tables};

/// Values that would be markup, run, or break the page if they were not escaped.
const HOSTILE: [&str; 5] = [
    "<script>document.title='run'</script>",
    "<img src=x onerror=\"document.title='run'\">",
    "\"><svg onload=alert(1)>&amp;&lt;",
    "'); document.title='run' //",
    "\u{1b}[2J\u{202e}\r\n\u{1F3C3}",
];

/// A process that ends with this value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a program, and returns the first line that it prints that holds a text.
fn start(command: &mut Command, text: &str) -> Option<(Running, String)> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let out: BufReader<ChildStdout> = BufReader::new(child.stdout.take().unwrap());
    let running = Running(child);
    let line = out.lines().map_while(Result::ok).find(|line| line.contains(text))?;
    Some((running, line))
}

fn browse(arguments: &[&str]) -> (Running, String) {
    let mut program = Command::new(env!("CARGO_BIN_EXE_table-orm"));
    let (running, line) = start(program.args(arguments), "http://").unwrap();
    (running, line[line.find("http://").unwrap()..].to_owned())
}

/// Sends a request, and returns the status and the answer.
fn send(address: &str, head: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    write!(stream, "{head}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}")
        .unwrap();
    // ChromeDriver leaves the connection open, so the end is where the head says.
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut answer = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    while answer.read_line(&mut head).unwrap() > 2 {
        let line = head.lines().next_back().unwrap_or_default().to_ascii_lowercase();
        if let Some(text) = line.strip_prefix("content-length:") {
            length = text.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    answer.read_exact(&mut body).unwrap();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap();
    (status, head + &String::from_utf8(body).unwrap())
}

/// A page, without a browser.
fn get(url: &str) -> (u16, String) {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    send(address, &format!("GET /{path} HTTP/1.1\r\nHost: {address}"), "")
}

/// A browser.
struct Browser {
    address: String,
    session: String,
    _driver: Running,
    /// What the browser leaves behind; deleted after the driver has ended.
    _files: tempfile::TempDir,
}

impl Browser {
    /// Starts one of that width; the reason if there is none.
    fn start(width: u32) -> Result<Self, String> {
        let files = tempfile::tempdir().map_err(|error| error.to_string())?;
        let mut driver = Command::new("chromedriver");
        driver.env("TMPDIR", files.path()).arg("--port=0");
        let started = start(&mut driver, "successfully on port");
        let (driver, line) = started.ok_or("there is no ChromeDriver")?;
        let port: String = line.chars().filter(char::is_ascii_digit).collect();
        let address = format!("127.0.0.1:{port}");
        let mut browser = Self { address, session: String::new(), _driver: driver, _files: files };
        let metrics = json!({ "width": width, "height": 844, "pixelRatio": 1 });
        let options = json!({
            "args": ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
            "mobileEmulation": { "deviceMetrics": metrics },
        });
        let wanted =
            json!({ "capabilities": { "alwaysMatch": { "goog:chromeOptions": options } } });
        let session = browser.post("/session", &wanted)?;
        browser.session = session["sessionId"].as_str().ok_or("no session")?.to_owned();
        Ok(browser)
    }

    fn post(&self, path: &str, body: &Value) -> Result<Value, String> {
        let head = format!("POST {path} HTTP/1.1\r\nHost: {}", self.address);
        let (status, answer) = send(&self.address, &head, &body.to_string());
        let text = answer.split_once("\r\n\r\n").map(|(_, text)| text).unwrap_or_default();
        let mut value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        if status == 200 { Ok(value["value"].take()) } else { Err(value.to_string()) }
    }

    fn call(&self, command: &str, body: &Value) -> Value {
        self.post(&format!("/session/{}/{command}", self.session), body).unwrap()
    }

    fn open(&self, url: &str) {
        self.call("url", &json!({ "url": url }));
    }

    fn run(&self, script: &str) -> Value {
        self.call("execute/sync", &json!({ "script": format!("return {script}"), "args": [] }))
    }

    /// Presses a key until the page has that answer, and panics after half a minute: a browser ignores
    /// keys until it has painted a page.
    fn press_until(&self, key: &str, script: &str, is_expected: impl Fn(&Value) -> bool) {
        let body = json!({ "script": format!("return {script}"), "args": [] });
        let path = format!("/session/{}/execute/sync", self.session);
        let begun = Instant::now();
        // While a page is left, there is nothing to ask.
        while !self.post(&path, &body).is_ok_and(|answer| is_expected(&answer)) {
            assert!(begun.elapsed() < Duration::from_secs(30), "{key}: {script}");
            let _missed = self.send_keys(&[key]);
        }
    }

    fn press(&self, keys: &[&str]) {
        self.send_keys(keys).unwrap();
    }

    fn send_keys(&self, keys: &[&str]) -> Result<Value, String> {
        let actions: Vec<_> = keys
            .iter()
            .flat_map(|key| ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key })))
            .collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        let path = format!("/session/{}/actions", self.session);
        self.post(&path, &json!({ "actions": [keyboard] }))
    }

    /// Keeps a picture of the page, where `TABLE_ORM_SCREENSHOTS` names a folder.
    fn keep(&self, name: &str) {
        let Some(folder) = std::env::var_os("TABLE_ORM_SCREENSHOTS") else { return };
        let head =
            format!("GET /session/{}/screenshot HTTP/1.1\r\nHost: {}", self.session, self.address);
        let (_, answer) = send(&self.address, &head, "");
        std::fs::write(Path::new(&folder).join(name), answer.split_once("\r\n\r\n").unwrap().1)
            .unwrap();
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let head = format!("DELETE /session/{} HTTP/1.1\r\nHost: {}", self.session, self.address);
        send(&self.address, &head, "");
    }
}

/// A database file with rows that are hard to show.
fn database() -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hard.redb").to_str().unwrap().to_owned();
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let tables = Tables::open(&path).unwrap();
        let name = TableName::new("results").unwrap();
        tables.create(&name).await.unwrap();
        let row = |at: usize| {
            DynamicEntity::new(format!("<b>{}", at % 3), format!("{at:05}'\"&"))
                .with("Hostile", HOSTILE[at % HOSTILE.len()])
                .with("Chip", i64::MAX - at as i64)
                .with("Seconds", at as f64)
                .with("Rank", at as i32)
                .with("Long", "word ".repeat(400))
                .with("Bytes", vec![0_u8, 255])
        };
        let rows: Vec<_> = (0..180).map(row).chain([DynamicEntity::new("", "empty")]).collect();
        tables.table(name).insert_many(rows).await.all().unwrap();
    });
    (folder, path)
}

#[test]
fn pages_are_for_this_machine_and_for_those_who_know_their_secret() {
    let (_folder, path) = database();
    let (_running, url) = browse(&["browse", &path]);
    let (status, page) = get(&url);
    assert_eq!(status, 200);
    assert!(page.contains("default-src 'none'") && page.contains("table/results"), "{page}");
    let (address, root) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    assert_eq!(get(&format!("http://{address}/")).0, 404);
    assert_eq!(get(&format!("http://{address}/table/results")).0, 404);
    let rebound = format!("GET /{root} HTTP/1.1\r\nHost: evil.example");
    assert_eq!(send(address, &rebound, "").0, 404);
    let posted = format!("POST /{root} HTTP/1.1\r\nHost: {address}");
    assert_eq!(send(address, &posted, "x").0, 405);
    assert_eq!(get(&format!("{url}table/none")).0, 404);
    assert_eq!(get(&format!("{url}table/..%2f..")).0, 404);
    let (status, wrong) = get(&format!("{url}table/results?filter=%3Cb%3E"));
    assert!(status == 400 && wrong.contains("is expected") && !wrong.contains("<b>"), "{wrong}");
    let (status, wrong) = get(&format!("{url}table/results?from=5&to=3"));
    assert!(status == 400 && wrong.contains("no RowKey lies from"), "{wrong}");
}

#[test]
fn pages_of_rows_have_every_row_once_and_no_markup_of_theirs() {
    let (_folder, path) = database();
    let (_running, url) = browse(&["browse", &path]);
    let base = url.trim_end_matches('/').rsplit_once('/').unwrap().0.to_owned();
    let (mut next, mut rows, mut pages) = (Some(format!("{url}table/results")), 0, 0);
    while let Some(address) = next {
        let (status, page) = get(&address);
        assert_eq!(status, 200, "{page}");
        assert!(
            !page.contains("<img") && !page.contains("<svg") && !page.contains("<b>"),
            "{page}"
        );
        rows += page.matches("<td data-name=\"RowKey\">").count();
        pages += 1;
        let link = page.split("<a href=\"").find(|link| link.contains("rel=\"next\""));
        let link = link.map(|link| link.split('"').next().unwrap().replace("&amp;", "&"));
        next = link.map(|link| format!("{base}{link}"));
    }
    assert_eq!((rows, pages), (181, 4));
    let of = |query: &str| {
        get(&format!("{url}table/results?{query}")).1.matches("data-name=\"RowKey\"").count()
    };
    assert_eq!(of("partition="), 1);
    assert_eq!(of("filter=Rank+lt+5&partition=&prefix=&from=&to="), 5);
    assert_eq!(of("prefix=%3Cb%3E1&from=00100&to=00110"), 4);
    let (_, largest) = get(&format!("{url}table/results/partitions?largest=1"));
    assert!(largest.contains("&lt;b&gt;0") && largest.contains("<td class=\"number\">60</td>"));
}

#[test]
fn pages_are_readable_in_a_browser_at_every_width_and_by_keyboard() {
    let (_folder, path) = database();
    let (_running, url) = browse(&["browse", &path]);
    for width in [390, 1280] {
        let browser = match Browser::start(width) {
            Ok(browser) => browser,
            Err(reason) => return support::leave_out("pages in a browser", &reason),
        };
        let fits = || {
            let wide = browser.run("document.documentElement.scrollWidth");
            assert!(wide.as_u64().unwrap() <= u64::from(width), "{wide} of {width}");
        };
        browser.open(&url);
        fits();
        browser.keep(&format!("{width}-tables.png.base64"));
        browser.open(&format!("{url}table/results"));
        fits();
        browser.keep(&format!("{width}-rows.png.base64"));
        assert_eq!(browser.run("document.title"), json!("results"), "no value has run");
        assert_eq!(browser.run("document.querySelectorAll('.rows tbody tr').length"), json!(50));
        assert_eq!(browser.run("document.querySelectorAll('img, svg, b').length"), json!(0));
        let cell = "[...document.querySelectorAll('[data-name=Hostile] code')]";
        let shown = browser.run(&format!("{cell}.map(cell => cell.textContent)"));
        assert!(shown.as_array().unwrap().contains(&json!(HOSTILE[1])), "{shown}");
        let label =
            "getComputedStyle(document.querySelector('td[data-name=Rank]'), '::before').content";
        assert_eq!(browser.run(label) == json!("\"Rank\""), width < 768, "cards on phones only");
        browser.press_until("/", "document.activeElement.name", |name| *name == "partition");
        browser.press(&["n"]);
        assert_eq!(browser.run("document.activeElement.value"), json!("n"), "typed, not followed");
        browser.open(&format!("{url}table/results"));
        browser.press_until("n", "location.search", |search| {
            search.as_str().is_some_and(|search| search.contains("after_row"))
        });
        browser.press_until("t", "location.href", |address| *address == json!(url));
        browser.open(&format!("{url}table/results/partitions?largest=1"));
        fits();
        browser.keep(&format!("{width}-partitions.png.base64"));
    }
}

#[test]
fn a_server_shows_its_tables_while_clients_use_them() {
    let mut serve = Command::new(env!("CARGO_BIN_EXE_table-orm"));
    let serve = serve.args(["serve", "--port", "0", "--browse"]);
    let (_running, line) = start(serve, "Pages: ").unwrap();
    let (status, page) = get(line.strip_prefix("Pages: ").unwrap());
    assert!(status == 200 && page.contains("There are no tables"), "{page}");
}

/// Opens a page at the widths of a phone and of a desktop. It is no wider, and loads nothing.
fn at_every_width(name: &str, page: &Path, check: impl Fn(&Browser, u32)) {
    for width in [390, 1280] {
        let browser = match Browser::start(width) {
            Ok(browser) => browser,
            Err(reason) => return support::leave_out(&format!("the {name} page"), &reason),
        };
        browser.open(&format!("file://{}", page.display()));
        browser.keep(&format!("{width}-{name}.png.base64"));
        let wide = browser.run("document.documentElement.scrollWidth").as_u64().unwrap();
        assert!(wide <= u64::from(width), "{wide} of {width}");
        assert_eq!(browser.run("document.querySelectorAll('script, img, link').length"), json!(0));
        check(&browser, width);
    }
}

#[test]
fn the_page_of_a_stress_test_is_readable_in_a_browser_at_every_width() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("stress.html");
    let rates =
        ["--partition-rate", "100", "--account-rate", "300", "--to", "200", "--to-all", "600"];
    let mut stress = Command::new(env!("CARGO_BIN_EXE_table-orm"));
    stress.args(["stress", "simulated", "--rows", "100"]).args(rates).arg("--html").arg(&page);
    assert!(stress.output().unwrap().status.success());
    at_every_width("stress", &page, |browser, width| {
        let plots = "[...document.querySelectorAll('svg')]";
        let widths =
            browser.run(&format!("{plots}.map(plot => plot.getBoundingClientRect().width)"));
        let widths: Vec<_> = widths.as_array().unwrap().iter().filter_map(Value::as_f64).collect();
        assert!(widths.len() == 4 && widths.iter().all(|plot| *plot > 300.0), "{widths:?}");
        // Text of a plot, in pixels of the page.
        let smallest = format!(
            "Math.min(...{plots}.flatMap(plot => [...plot.querySelectorAll('text')])\
             .map(text => text.getBoundingClientRect().height))"
        );
        assert!(browser.run(&smallest).as_f64().unwrap() >= 9.0, "{width}");
        let texts = browser.run(&format!("{plots}[0].textContent"));
        let texts = texts.as_str().unwrap();
        assert!(texts.contains("sent") && texts.contains("first 503"), "{texts}");
        let rows = browser.run("document.querySelectorAll('tbody tr').length").as_u64();
        assert!(rows.unwrap() > 8, "each step has a row");
        let label =
            "getComputedStyle(document.querySelector('td[data-name=failed]'), '::before').content";
        assert_eq!(browser.run(label) == json!("\"failed\""), width < 768, "cards on phones only");
    });
}

/// A ticket of a long show name, so that keys and names are as wide as they get.
#[derive(Debug, TableEntity)]
#[table(name = "tickets", partition = "{venue}")]
#[row(by_number, key = "NUM:{number:010}")]
#[row(by_show, key = "SHOW:{show}__{number:010}")]
#[row(by_owner, key = "OWN:{number:010}__{venue}", eventual, partition = "OWN:{owner}")]
struct Ticket {
    venue: String,
    number: u64,
    show: String,
    owner: String,
}

/// The page of a book with findings, one of them known, a scan, a load, and what was measured.
fn book() -> String {
    let measure = Measure::new();
    let tickets = Tables::in_memory().unwrap().layer(measure.clone()).unwrap().repo::<Ticket>();
    let ticket = |number: u64| Ticket {
        venue: "A hall with a name of many words, by the river".repeat(1 + number as usize % 2),
        number,
        show: format!("The {number}th night of an endless and unbreakablylongwordedperformance"),
        owner: format!("somebody-with-a-long-name-{number}@example.com"),
    };
    let samples: Vec<_> = (0..10).map(ticket).collect();
    let venue = Ticket::partition(&*samples[0].venue);
    let scan = tickets.scan(ScanPermit::because("the page")).plan().unwrap();
    let patterns = [
        Pattern::new(
            "a ticket by its number",
            tickets.get(venue.by_number().number(1)).plan().unwrap(),
        )
        .per_second(900.0)
        .within(Duration::from_millis(20)),
        Pattern::new("what is on", tickets.list(venue.by_show()).plan().unwrap()).per_hour(30.0),
        Pattern::new("every ticket", scan).per_day(1.0),
        Pattern::new("a sale", tickets.insert(&samples[1]).plan().unwrap()).per_second(3.0),
    ];
    let sample = Sample::of(&samples).unwrap().entities(3_000_000).largest_partition(40_000);
    let calls = async {
        tickets.create_table().await.unwrap();
        for ticket in &samples {
            as_pattern("a sale", tickets.insert(ticket).into_future()).await.unwrap();
        }
        let list = tickets.list(venue.by_show()).collect();
        as_pattern("what is on", list).await.unwrap();
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(calls);
    let book = Book::new("The ticket office", Prices::east_us_2())
        .entity(sample)
        .measured(measure.patterns())
        .known(BookFindingKind::UnusedRow, "Ticket.by_owner", "the police read it once a year");
    patterns.into_iter().fold(book, Book::pattern).report().html()
}

#[test]
fn the_book_of_access_patterns_is_readable_in_a_browser_at_every_width() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("book.html");
    std::fs::write(&page, book()).unwrap();
    at_every_width("book", &page, |browser, width| {
        // No word leaves its cell.
        let cells = "[...document.querySelectorAll('td')].filter(cell => cell.textContent.trim())";
        let cut = format!("{cells}.filter(cell => cell.scrollWidth > cell.clientWidth + 1).length");
        assert_eq!(browser.run(&cut), json!(0), "{width}");
        let smallest = format!(
            "Math.min(...{cells}.map(cell => parseFloat(getComputedStyle(cell).fontSize)))"
        );
        assert!(browser.run(&smallest).as_f64().unwrap() >= 11.0, "{width}");
        let text = browser.run("document.body.innerText");
        let text = text.as_str().unwrap();
        for shown in ["a ticket by its number", "every ticket", "scans", "NUM:{number:010}", "USD"]
        {
            assert!(text.contains(shown), "{shown} is not in {text}");
        }
    });
}
