//! The methods with which a caller says when a write settles, in each call that writes entities.

/// The methods of a call that writes entities.
macro_rules! settling_methods {
    () => {
        $crate::eventual::settling_methods!(settling);
    };
    ($($settling:tt)+) => {
        /// Returns as soon as the entity is written. In the background, it brings the entity's rows in other
        /// partitions in step, and frees the values that the entity gave up. Without it, the call returns
        /// after that.
        ///
        /// A type without `eventual` rows, sums over partitions and `unique(.., across)` has nothing to settle.
        /// At most 64 calls of one [`Tables`](crate::Tables) and its clones settle in the background at a time:
        /// one more settles before it returns, and so does a call outside a tokio runtime.
        pub fn settle_later(mut self) -> Self {
            self.$($settling)+.later = true;
            self
        }

        /// Makes the tickets for the entity's rows in other partitions before it writes the entity, not after.
        /// The call then need not read the entity afterwards: it takes 2 requests for each such partition and
        /// 2 others, instead of 3 others.
        ///
        /// The entity itself is written one round trip later. A write that is rejected, such as one of an entity
        /// that has changed, takes 2 requests for each partition in vain: one that reserves, and one that gives
        /// back. So it pays where writes rarely conflict. It has no effect on a write that changes a sum over
        /// partitions: the copy of the total is known only after the write.
        pub fn tickets_first(mut self) -> Self {
            self.$($settling)+.tickets_first = true;
            self
        }

        /// Adds to the answer whether the rows in other partitions are in step with what the call wrote
        /// ([`Written`]($crate::eventual::Written)). Set it last, because it returns another call.
        ///
        /// A call that wrote the entity succeeds, even if a row in another partition cannot be written:
        /// `settled` is `false` then. Where a partition does not answer, the call tries for about 5 s before it
        /// returns. The process tries again for 2 minutes, and [`Repo::settle`](crate::Repo::settle) settles what is
        /// left. With [`settle_later`](Self::settle_later) it is `false` at first.
        pub fn report_settled(mut self) -> $crate::eventual::ReportSettled<Self> {
            let settled = $crate::eventual::Settled::default();
            self.$($settling)+.report = Some(settled.clone());
            $crate::eventual::ReportSettled::new(self, settled)
        }
    };
}
pub(crate) use settling_methods;
