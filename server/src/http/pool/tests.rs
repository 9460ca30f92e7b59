use super::*;

const SOON: Duration = Duration::from_millis(100);
const LATE: Duration = Duration::from_secs(60);

fn caller(name: &str) -> CallerKey {
    CallerKey::new(name)
}

/// A part whose peer is behind.
fn behind(part: PoolPart) -> PoolPart {
    part.pace().waits_until(Instant::now());
    part
}

/// Lets the part go as soon as it is asked to.
fn leaves(mut part: PoolPart) {
    tokio::spawn(async move {
        part.give_way_requested().await;
        drop(part);
    });
}

#[tokio::test]
async fn a_lone_caller_has_all_of_it_and_gives_it_back() {
    let pool = Pool::new(100);
    let a = caller("a");
    let mut one = pool.try_take(&a, 60).unwrap();
    assert!(pool.try_take(&a, 41).is_none() && !one.try_grow_to(101) && one.try_grow_to(100));
    one.shrink_to(30);
    assert!(pool.try_take(&a, 70).is_some(), "and is given back with the drop");
    assert_eq!(one.grow_to(101, LATE).await, Err(PoolRefusal::NoRoom), "more than there is: at once");
    assert_eq!(one.grow_to(100, LATE).await, Ok(()));
    drop(one);
    pool.emptied().await;
}

#[tokio::test]
async fn whoever_is_behind_gives_way_to_their_own_caller_too() {
    let pool = Pool::new(100);
    let a = caller("a");
    let (old, new, busy) =
        (pool.try_take(&a, 40).unwrap(), pool.try_take(&a, 40).unwrap(), pool.try_take(&a, 20).unwrap());
    old.pace().waits_until(Instant::now() + SOON);
    new.pace().waits_until(Instant::now() + 4 * SOON);
    leaves(old);
    leaves(new);
    let began = Instant::now();
    let third = pool.take(&a, 40, LATE).await.unwrap();
    assert!(began.elapsed() >= SOON && began.elapsed() < 2 * SOON, "{:?}", began.elapsed());
    assert!(pool.take(&a, 80, SOON).await.is_err(), "what moves stays");
    drop((third, busy));
    assert!(pool.take(&a, 100, LATE).await.is_ok());
}

#[tokio::test]
async fn a_caller_past_its_share_gives_way_to_one_below_it_and_to_no_other() {
    let pool = Pool::new(90);
    let (a, b, c) = (caller("a"), caller("b"), caller("c"));
    for _ in 0..9 {
        let part = pool.try_take(&a, 10).unwrap();
        part.pace().moves();
        leaves(part);
    }
    assert!(pool.take(&a, 10, SOON).await.is_err(), "its own parts move");
    let held_by_b: Vec<_> = [10; 4].map(|part| pool.take(&b, part, SOON)).into_iter().collect();
    let mut of_b = Vec::new();
    for taking in held_by_b {
        let part = taking.await.unwrap();
        part.pace().moves();
        of_b.push(part);
    }
    assert!(pool.take(&b, 10, SOON).await.is_err(), "half is b's share");
    let of_c = pool.take(&c, 30, SOON).await.unwrap();
    assert_eq!((of_c.amount(), of_b.len()), (30, 4), "a third is c's, from a");
}

#[tokio::test]
async fn what_is_freed_goes_to_whoever_is_below_their_share() {
    let pool = Pool::new(10);
    let (a, b) = (caller("a"), caller("b"));
    let (held, more) = (pool.try_take(&a, 10).unwrap(), pool.clone());
    let waiting = tokio::spawn(async move { more.take(&b, 5, LATE).await.unwrap() });
    tokio::task::yield_now().await;
    let mut again = pool.part(&a);
    drop(held);
    assert!(!again.try_grow_to(6), "b waits for its half");
    assert!(again.try_grow_to(5));
    assert_eq!(waiting.await.unwrap().amount(), 5);
}

#[tokio::test]
async fn who_waits_for_more_gives_way_too() {
    let pool = Pool::new(100);
    let (a, b) = (caller("a"), caller("b"));
    let (mut one, other) = (pool.try_take(&a, 50).unwrap(), pool.try_take(&a, 50).unwrap());
    one.pace().moves();
    let waiting = tokio::spawn(async move { one.grow_to(60, LATE).await });
    tokio::task::yield_now().await;
    let of_b = pool.take(&b, 50, LATE).await.unwrap();
    assert_eq!(waiting.await.unwrap(), Err(PoolRefusal::GivesWay));
    drop((of_b, other));
    pool.emptied().await;
}

#[tokio::test]
async fn a_part_counts_as_whose_it_has_become() {
    let pool = Pool::new(4);
    let (near, a, b) = (caller("127.0.0.1"), caller("a"), caller("b"));
    for _ in 0..4 {
        let part = pool.try_take(&near, 1).unwrap();
        part.owner().becomes(&a);
        part.pace().moves();
        leaves(part);
    }
    assert!(pool.take(&near, 1, SOON).await.is_ok());
    assert!(pool.take(&b, 1, SOON).await.is_ok());
}

#[tokio::test]
async fn no_more_are_asked_than_it_takes() {
    let pool = Pool::new(10);
    let a = caller("a");
    let mut parts: Vec<_> = (0..10).map(|_| behind(pool.try_take(&a, 1).unwrap())).collect();
    assert!(pool.take(&a, 3, SOON).await.is_err(), "nobody left");
    assert!(pool.take(&a, 3, SOON).await.is_err(), "those that were asked are waited for");
    let asked = parts.iter_mut().filter_map(|part| {
        let poll = part.poll_give_way(&mut Context::from_waker(std::task::Waker::noop()));
        poll.is_ready().then_some(())
    });
    assert_eq!(asked.count(), 3);
}

#[tokio::test]
async fn whoever_holds_most_past_its_share_makes_room_at_once_for_one_below() {
    let pool = Pool::new(6);
    let (a, b, c) = (caller("a"), caller("b"), caller("c"));
    let mut of_a: Vec<_> = (0..6).map(|_| pool.take_or_displace(&a, 1).unwrap()).collect();
    assert!(pool.take_or_displace(&a, 1).is_none(), "nobody displaces their own");
    let mut of_b: Vec<_> = (0..3).map(|_| pool.take_or_displace(&b, 1).unwrap()).collect();
    assert!(pool.take_or_displace(&b, 1).is_none(), "has its share");
    let of_c = pool.take_or_displace(&c, 1).unwrap();
    for (at, part) in of_a.iter_mut().chain(&mut of_b).enumerate() {
        let is_asked = tokio::time::timeout(Duration::ZERO, part.give_way_requested()).await.is_ok();
        assert_eq!(is_asked, [3, 4, 5, 8].contains(&at), "{at}: the newest go first");
    }
    drop(of_a);
    drop((of_b, of_c));
    pool.emptied().await;
}
