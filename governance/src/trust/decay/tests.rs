use super::*;

fn score(ten_thousandths: u16) -> Score {
    Score::new(ten_thousandths).unwrap()
}

/// `0.5^(part / 2^32)` in units of 2^-62, by another way than the table: a square root for each bit of the part.
fn exact(part: u32) -> u128 {
    let (mut product, mut root): (u128, u128) = (1 << 62, 1 << 61);
    for bit in (0..32).rev() {
        root = (root << 62).isqrt();
        if part >> bit & 1 == 1 {
            product = (product * root) >> 62;
        }
    }
    product
}

#[test]
fn half_is_left_after_one_half_life_and_a_quarter_after_two() {
    for half_life in [1, 7, 300, 86_400_000_000, u64::MAX / 40] {
        for halvings in 0..=32 {
            assert_eq!(Decay::after(half_life * halvings, half_life), Decay((1 << 32) >> halvings));
        }
        assert_eq!(Decay::after(half_life * 33, half_life), Decay(0));
    }
    assert_eq!(Decay::after(u64::MAX, u64::MAX), Decay(1 << 31));
    assert_eq!(Decay::after(1, 2).0, 3_037_000_500, "the root of one half, 0.70710678");
}

#[test]
fn without_an_age_or_a_half_life_nothing_is_lost() {
    assert_eq!((Decay::after(0, 1), Decay::after(u64::MAX, 0)), (Decay::NONE, Decay::NONE));
    for ten_thousandths in 0..=10_000 {
        assert_eq!(Decay::NONE.of(score(ten_thousandths)), score(ten_thousandths));
    }
}

#[test]
fn it_is_within_a_millionth_of_the_exact_value_and_never_below_by_more_than_rounding() {
    let half_life = 1 << 32;
    for part in (0..u32::MAX).step_by(65_521) {
        let (found, exact) =
            (i128::from(Decay::after(u64::from(part), half_life).0), (exact(part) >> 30).cast_signed());
        let above = found - exact;
        assert!((-2..=(1 << 32) / 1_000_000).contains(&above), "{part}: {found}, exactly {exact}");
    }
}

#[test]
fn it_never_grows_with_age() {
    for half_life in [1, 3, 1_000, 65_537, 86_400_000_000] {
        let mut before = Decay::NONE;
        for step in 0..40_000_u64 {
            let now = Decay::after(step * half_life / 1_000, half_life);
            assert!(now <= before, "half-life {half_life}, step {step}");
            before = now;
        }
    }
}

#[test]
fn the_table_is_the_one_that_histories_were_judged_with() {
    assert_eq!((TABLE[0], TABLE[1], TABLE[64]), (4_294_967_296, 4_283_353_945, 3_611_622_603));
    assert_eq!((TABLE[128], TABLE[255], TABLE[256]), (3_037_000_500, 2_153_306_067, 2_147_483_648));
    let digest = TABLE.iter().fold(0_u64, |digest, value| digest.wrapping_mul(0x0100_0000_01B3) ^ value);
    assert_eq!(digest, 0x1cd8_a5f5_5216_f3ed);
}

#[test]
fn what_is_left_of_a_score_is_rounded_half_up() {
    let half = Decay::after(1, 1);
    assert_eq!(
        (half.of(score(9_804)), half.of(score(9_803)), half.of(score(1))),
        (score(4_902), score(4_902), score(1))
    );
    assert_eq!(Decay::after(2, 1).of(score(1)), Score::ZERO);
}
