//! A day in the shop: what it does and asks, what that sends, and what it costs.

use crate::customer::Customer;
use crate::invoice::Invoice;
use crate::meter::Meter;
use crate::order::Order;
use crate::recovery;
use crate::report::Column::{self, Left, Right};
use crate::report::{Report, counted, took};
use crate::shop::{SERIES, Shop};
use crate::warehouse::Warehouse;
use std::io::{self, Write};
use std::time::Instant;
use table_orm::Error;
use table_orm::plan::Plan;
use table_orm::queue::QueueError;
use time::{Date, Month};

/// The reason why the story ends early.
#[derive(Debug, thiserror::Error)]
pub enum StoryError {
    /// The store does not answer.
    #[error(transparent)]
    Store(#[from] Error),
    /// The queue does not answer.
    #[error(transparent)]
    Queue(#[from] QueueError),
    /// The report cannot be written.
    #[error("the output cannot be written")]
    Output(#[from] io::Error),
    /// The rows do not agree. That is a mistake of this program or of table-orm.
    #[error("{0} are wrong after everything was settled")]
    Wrong(String),
}

type Result<T> = std::result::Result<T, StoryError>;

/// A day of one shop.
pub struct Story<'a, W> {
    /// The shop.
    pub shop: &'a Shop,
    /// What learns of its orders.
    pub warehouse: &'a Warehouse,
    /// What counts its requests to the store.
    pub meter: &'a Meter,
    /// The output.
    pub report: &'a mut Report<W>,
    /// Whether the process dies while it writes an order.
    pub dies: bool,
}

impl<W: Write> Story<'_, W> {
    /// Tells the whole story.
    pub async fn tell(&mut self) -> Result<()> {
        self.what_was_left().await?;
        let ann = self.sign_up("Ann", "ann@example.org").await?;
        let bob = self.sign_up("Bob", "bob@example.org").await?;
        self.same_address().await?;
        let [today, tomorrow] = days()?;
        let gift = self.order(&ann, today, &["gift", "fragile"], 4_900).await?;
        for (customer, labels, cents) in [(&ann, &[] as &[&str], 1_250), (&bob, &["gift"], 900)] {
            let order = self.shop.new_order(customer.id, today, labels, cents).await?;
            self.shop.orders.insert(&order).await?;
        }
        self.orders_of(&ann).await?;
        self.gifts_of(&ann).await?;
        self.orders_on(today).await?;
        self.postpone(&gift, tomorrow).await?;
        self.bill([today, tomorrow]).await?;
        self.revenue().await?;
        self.tell_warehouse().await?;
        self.all_is_well().await
    }

    async fn what_was_left(&mut self) -> Result<()> {
        self.report.question("What did an earlier run leave?")?;
        let findings = recovery::out_of_step(self.shop).await?;
        for finding in &findings {
            self.report.item(&finding.to_string())?;
        }
        let settled = recovery::settle(self.shop).await? as usize;
        self.report.line(&match (findings.len(), settled) {
            (0, 0) => "Nothing.".to_owned(),
            (found, settled) => {
                let (found, settled) = (counted(found, "finding"), counted(settled, "write"));
                format!("{found}; {settled} of a process that ended settled")
            }
        })?;
        Ok(())
    }

    async fn sign_up(&mut self, name: &str, email: &str) -> Result<Customer> {
        self.report.question(&format!("{name} signs up as {email}"))?;
        let customers = &self.shop.customers;
        let new = self.shop.new_customer(name, email).await?;
        match self.call(customers.insert(&new).plan()?, customers.insert(&new)).await {
            Ok(_) => Ok(new),
            Err(StoryError::Store(error @ Error::UniqueViolation { .. })) => {
                // The query is exact: everything is settled.
                let known = customers.list(Customer::by_email(email)).first().await?;
                let Some(known) = known else { return Err(error.into()) };
                self.report.line(&format!("{name} is customer {} of an earlier run.", known.id))?;
                Ok(known)
            }
            Err(error) => Err(error),
        }
    }

    async fn same_address(&mut self) -> Result<()> {
        self.report.question("Somebody else signs up with Ann's address, in capitals")?;
        let new = self.shop.new_customer("Anna", "ANN@EXAMPLE.ORG").await?;
        let sent = self.meter.sent();
        match self.shop.customers.insert(&new).await {
            Err(error @ Error::UniqueViolation { .. }) => {
                self.report.line(&error.to_string())?;
                self.report.line(&requests(self.meter.sent() - sent))?;
                Ok(())
            }
            Err(error) => Err(error.into()),
            Ok(_) => Err(StoryError::Wrong("two customers of one address".to_owned())),
        }
    }

    async fn order(
        &mut self,
        customer: &Customer,
        day: Date,
        labels: &[&str],
        cents: i64,
    ) -> Result<Order> {
        let name = &customer.name;
        self.report
            .question(&format!("{name} orders for {day}, labelled {}", labels.join(" and ")))?;
        let order = self.shop.new_order(customer.id, day, labels, cents).await?;
        let insert = || self.shop.orders.insert(&order);
        if self.dies {
            self.report
                .line("The order will be stored, and the list of the day will not have it.")?;
            self.meter.die_after_transaction();
        }
        self.call(insert().plan()?, insert()).await?;
        Ok(order)
    }

    async fn orders_of(&mut self, customer: &Customer) -> Result<()> {
        self.report.question(&format!("What did {} order?", customer.name))?;
        let list = || self.shop.orders.list(Order::partition(customer.id).by_number());
        let orders = self.call(list().plan()?, list().collect()).await?;
        Ok(self.report.table(ORDER, &orders, order)?)
    }

    async fn gifts_of(&mut self, customer: &Customer) -> Result<()> {
        self.report.question(&format!("Which orders of {} are gifts?", customer.name))?;
        let gifts = || Order::partition(customer.id).by_label().label("gift");
        let list = || self.shop.orders.list(gifts());
        let orders = self.call(list().plan()?, list().collect()).await?;
        Ok(self.report.table(ORDER, &orders, order)?)
    }

    async fn orders_on(&mut self, day: Date) -> Result<()> {
        self.report.question(&format!("What is to be delivered on {day}, to all customers?"))?;
        let list = || self.shop.orders.list(Order::by_day(day));
        let orders = self.call(list().plan()?, list().collect()).await?;
        self.report.table(ORDER, &orders, order)?;
        self.report.gap()?;
        self.report.line("The same, if it may not show what is no longer so:")?;
        let checked = || list().checked();
        let now = self.call(checked().plan()?, checked().collect()).await?;
        if now != orders {
            return Err(StoryError::Wrong(format!("the orders of {day}")));
        }
        Ok(())
    }

    async fn postpone(&mut self, order: &Order, day: Date) -> Result<()> {
        let number = order.number;
        self.report.question(&format!("Order {number} is postponed to {day}: what changes?"))?;
        let key = Order::partition(order.customer).by_number().number(number);
        let mut loaded = self.shop.orders.load(&key).await?.one()?;
        loaded.day = day;
        let plan = self.shop.orders.save(&mut loaded).plan()?;
        self.call(plan, self.shop.orders.save(&mut loaded)).await?;
        Ok(())
    }

    async fn bill(&mut self, days: [Date; 2]) -> Result<()> {
        self.report.question("Every order gets an invoice")?;
        let (sent, started, mut new) = (self.meter.sent(), Instant::now(), 0);
        for day in days {
            new += self.shop.bill(day).await?;
        }
        let (new, elapsed) = (counted(new, "new invoice"), took(started.elapsed()));
        self.report.line(&format!("{new}, {}, {elapsed}", requests(self.meter.sent() - sent)))?;
        let invoices = self.shop.invoices.list(Invoice::partition(SERIES).by_number());
        let invoices = invoices.collect().await?;
        let gap = invoices.iter().zip(1..).find(|(invoice, number)| invoice.number != *number);
        if let Some((_, number)) = gap {
            return Err(StoryError::Wrong(format!("the numbers of the invoices from {number} on")));
        }
        let columns = [Right("invoice"), Right("order"), Left("day"), Right("cents")];
        Ok(self.report.table(columns, &invoices, |invoice| {
            let Invoice { number, order, day, cents, .. } = invoice;
            [number.to_string(), order.to_string(), day.to_string(), cents.to_string()]
        })?)
    }

    async fn revenue(&mut self) -> Result<()> {
        self.report.question("What is the revenue of each day?")?;
        let (sent, series) = (self.meter.sent(), Invoice::partition(SERIES));
        let days = self.shop.invoices.sum_by_group(&series, &Invoice::REVENUE).await?;
        self.report.line(&requests(self.meter.sent() - sent))?;
        let days: Vec<_> = days.into_iter().collect();
        Ok(self.report.table([Left("day"), Right("cents")], &days, |(day, cents)| {
            [day.clone(), cents.to_string()]
        })?)
    }

    async fn tell_warehouse(&mut self) -> Result<()> {
        self.report.question("What does the warehouse learn?")?;
        let (sent, started) = (self.meter.sent(), Instant::now());
        let report = self.warehouse.hand_on(&self.shop.orders, &self.shop.orders_due).await;
        let handed = report.progress;
        let (events, elapsed) =
            (counted(handed.handed_on as usize, "event"), took(started.elapsed()));
        let cost = requests(self.meter.sent() - sent);
        self.report.line(&format!("{events} handed on to the queue, {cost}, {elapsed}"))?;
        if let Some(lag) = handed.lag {
            self.report.line(&format!("The oldest was written {} before.", took(lag)))?;
        }
        if handed.busy > 0 {
            let busy = counted(handed.busy as usize, "partition");
            self.report.line(&format!("{busy} left to another process, or to the lease's end"))?;
        }
        for failure in &report.failures {
            self.report.item(&failure.to_string())?;
        }
        if let Some(error) = report.ended {
            return Err(error.into());
        }
        let messages = self.warehouse.receive().await?;
        self.report
            .line(&format!("{} received, the last one:", counted(messages.len(), "message")))?;
        if let Some(message) = messages.last() {
            self.report.item(message)?;
        }
        Ok(())
    }

    async fn all_is_well(&mut self) -> Result<()> {
        self.report.question("Is every row in step?")?;
        let findings = recovery::out_of_step(self.shop).await?;
        let sums = self.shop.invoices.verify_sums(Invoice::partition(SERIES)).await?;
        if !findings.is_empty() || !sums.is_empty() {
            let wrong = counted(findings.len(), "row");
            return Err(StoryError::Wrong(format!("{wrong} and {}", counted(sums.len(), "sum"))));
        }
        Ok(self.report.line("Yes: each row, each guard and each sum.")?)
    }

    /// Makes a call, and reports what it sends and what it costs.
    async fn call<T>(
        &mut self,
        plan: Plan,
        call: impl IntoFuture<Output = table_orm::Result<T>>,
    ) -> Result<T> {
        self.report.plan(&plan)?;
        let (sent, started) = (self.meter.sent(), Instant::now());
        let answer = call.into_future().await;
        let elapsed = took(started.elapsed());
        self.report.line(&format!("{}, {elapsed}", requests(self.meter.sent() - sent)))?;
        Ok(answer?)
    }
}

/// The day of the story, and the next one.
fn days() -> Result<[Date; 2]> {
    let day = |day| Date::from_calendar_date(2026, Month::November, day);
    let days = day(23).and_then(|today| Ok([today, day(24)?]));
    days.map_err(|error| StoryError::Wrong(error.to_string()))
}

fn requests(count: u64) -> String {
    counted(count as usize, "request")
}

const ORDER: [Column; 5] =
    [Right("order"), Right("customer"), Left("day"), Left("labels"), Right("cents")];

fn order(order: &Order) -> [String; 5] {
    [
        order.number.to_string(),
        order.customer.to_string(),
        order.day.to_string(),
        order.labels.join(", "),
        order.cents.to_string(),
    ]
}
