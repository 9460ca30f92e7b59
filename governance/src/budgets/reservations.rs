//! Reservations for calls that have no outcome.

use std::collections::BTreeMap;

use bitacora_formats::Micros;
use bitacora_vocabulary::{BudgetPeriod, Name};

use super::{Budgets, ChargeContext, MAX_RESERVATIONS, Reservation, ReservedPart, SWEPT_AT_ONCE, WindowKey};
use crate::budgets::meter::days_of;
use crate::budgets::spend::Spend;
use crate::trust::new_dimensions::day_of;

/// The reservations that are past their time and come back, by window.
pub(super) type ExpiredReservations<'a> = BTreeMap<&'a WindowKey, Spend>;

impl Budgets {
    /// Returns the reservation for a call, by budget.
    pub(crate) fn reserved_for(&self, call: &str) -> &[ReservedPart] {
        self.reservations.get(call).map(|reservation| reservation.parts.as_slice()).unwrap_or_default()
    }

    /// Returns the reservations for calls of which no further report is expected.
    pub(super) fn overdue(&self, time: Micros) -> ExpiredReservations<'_> {
        let over = self.ending.iter().map(|(end, ())| end).take_while(|(end, _)| *end <= time);
        let parts = over.flat_map(|(end, call)| self.reserved_for(call).iter().map(move |part| (*end, part)));
        let mut overdue = ExpiredReservations::new();
        for (end, part) in parts.filter(|(_, part)| !part.is_released) {
            let Some(budget) = self.named(&part.key.budget) else { continue };
            let stays = part.spent_unheard(budget.period, end, time);
            let back = overdue.entry(&part.key).or_default();
            *back = back.and(part.amounts.without(stays));
        }
        overdue
    }

    /// Releases the reservations for calls of which no further report is expected.
    pub(crate) fn forget_overdue(&mut self, time: Micros) {
        let over = self.ending.iter().map(|(end, ())| end).take_while(|(end, _)| *end <= time);
        let calls: Vec<_> = over.map(|(_, call)| call.clone()).collect();
        calls.iter().for_each(|call| self.let_go(call, time));
    }

    /// Ends the wait for the call's outcome: the call may have run, and its cost will not be known.
    pub(crate) fn let_go(&mut self, call: &Name, time: Micros) {
        let Some(reservation) = self.reservations.get(call) else { return };
        let (parts, until) = (reservation.parts.clone(), reservation.until);
        self.forget_reservation(call);
        for part in parts.iter().filter(|part| !part.is_released) {
            let Some(period) = self.named(&part.key.budget).map(|budget| budget.period) else {
                continue;
            };
            let stays = part.spent_unheard(period, until, time);
            if stays != Spend::default() {
                // Nothing was done with the window now.
                self.meters.change(&part.key, |meter| meter.spend(period, stays, time));
            }
        }
    }

    pub(super) fn reserve(
        &mut self,
        call: &Name,
        key: WindowKey,
        amounts: Spend,
        until: Micros,
        at: ChargeContext<'_>,
    ) {
        if !at.is_strict() {
            self.sweep_reservations(at.time);
        }
        // Asked for again, it is still the same call.
        self.end_part(call, &key, false);
        let is_known = self.reservations.get(call).is_some();
        if !is_known && self.reservations.len() >= MAX_RESERVATIONS {
            return;
        }
        let is_kept = self.change_meter(&key, at, |meter, budget| {
            if !meter.held(budget.period, at.time).exhausts(&budget.limits, amounts) {
                meter.is_told = false;
            }
            meter.reserved = meter.reserved.and(amounts);
        });
        if is_kept.is_none() {
            return;
        }
        if let Some(before) = self.reservations.get(call).map(|reservation| reservation.until) {
            self.ending.remove(&(before, call.clone()));
        }
        self.ending.insert((until, call.clone()), ());
        let part = ReservedPart { key, amounts, is_released: false };
        let first = || Reservation { parts: Vec::new(), until };
        self.reservations.change_or(call, first, |reservation| {
            reservation.until = until;
            reservation.parts.push(part);
        });
    }

    /// Charges this much of a budget's reservation for a call; the final amount may still be told.
    pub(super) fn settle_in_part(&mut self, call: &Name, key: &WindowKey, amounts: Spend) {
        let is_its = |part: &&ReservedPart| part.key == *key && !part.is_released;
        if self.reserved_for(call).iter().find(is_its).is_none() {
            return;
        }
        self.meters.change(key, |meter| meter.reserved = meter.reserved.without(amounts));
        self.reservations.change(call, |reservation| {
            let same = reservation.parts.iter_mut().filter(|part| part.key == *key);
            same.for_each(|part| part.amounts = part.amounts.without(amounts));
        });
    }

    /// Gives back a budget's reservation for a call; where its outcome may still come, the call is stored.
    pub(super) fn end_part(&mut self, call: &Name, key: &WindowKey, may_still_come: bool) {
        let Some(reservation) = self.reservations.get(call) else { return };
        let Some(part) = reservation.parts.iter().find(|part| part.key == *key).cloned() else { return };
        if !part.is_released {
            self.meters.change(key, |meter| meter.reserved = meter.reserved.without(part.amounts));
        }
        let is_over = self.reservations.change(call, |reservation| {
            if may_still_come {
                let same = reservation.parts.iter_mut().filter(|part| part.key == *key);
                same.for_each(|part| part.is_released = true);
            } else {
                reservation.parts.retain(|part| part.key != *key);
            }
            reservation.parts.is_empty()
        });
        if is_over == Some(true) {
            self.forget_reservation(call);
        }
    }

    pub(super) fn forget_reservation(&mut self, call: &Name) {
        let Some((call, reservation)) = self.reservations.take(call) else { return };
        self.ending.remove(&(reservation.until, call));
        for part in reservation.parts.iter().filter(|part| !part.is_released) {
            self.meters.change(&part.key, |meter| meter.reserved = meter.reserved.without(part.amounts));
        }
    }

    fn sweep_reservations(&mut self, time: Micros) {
        let over = self.ending.iter().map(|(end, ())| end).take_while(|(end, _)| *end <= time);
        let calls: Vec<_> = over.take(SWEPT_AT_ONCE).map(|(_, call)| call.clone()).collect();
        calls.iter().for_each(|call| self.forget_reservation(call));
    }
}

impl ReservedPart {
    /// Returns the part that stays spent if the outcome of the call is never told: one call, as long as the day on which its time
    /// was over counts.
    fn spent_unheard(&self, period: BudgetPeriod, until: Micros, time: Micros) -> Spend {
        let counts = days_of(period).is_none_or(|days| day_of(until).saturating_add(days) > day_of(time));
        Spend { calls: if counts { self.amounts.calls } else { 0 }, ..Spend::default() }
    }
}
