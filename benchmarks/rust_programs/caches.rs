struct Features { features: HashMap<usize, Taped> }
impl Features {
    fn new() -> Features { Features { features: HashMap::new() } }
    fn of(&mut self, number: usize) -> Taped { self.features.remove(&number).unwrap_or(new_loss()) }
}

fn reject_features_that_are_cached_over_epochs() {
    let features: Vec<Taped> = (0..5).map(|_| new_loss()).collect();
    for _ in 0..2 { for number in 0..5 { features[number].backward(); } }
}
fn accept_features_of_one_epoch() {
    for _ in 0..2 { let mut store = Features::new(); for number in 0..5 { store.of(number).backward(); } }
}
fn accept_features_that_are_computed_in_each_epoch() {
    for _ in 0..2 { for number in 0..5 { new_loss().backward(); } }
}
fn accept_features_by_a_number_over_all_epochs() {
    let mut store = Features::new();
    for epoch in 0..2 { for number in 0..5 { store.of(5 * epoch + number).backward(); } }
}
fn accept_a_store_that_is_cleared() {
    let mut store = Features::new();
    for _ in 0..2 { store.features.clear(); for number in 0..5 { store.of(number).backward(); } }
}
fn reject_features_by_get() {
    let features: HashMap<usize, Taped> = (0..4).map(|number| (number, new_loss())).collect();
    for _ in 0..2 { for number in 0..4 { features.get(&number).unwrap().scale(1.0).backward(); (*features.get(&number).unwrap()).backward(); } }
}
fn accept_features_by_get() {
    let mut store = Features::new();
    for number in 0..way() { store.of(number).backward(); }
}
fn reject_two_loops_over_one_store() {
    let features: Vec<Taped> = (0..5).map(|_| new_loss()).collect();
    for one in features { one.backward(); }
    for one in features { one.backward(); }
}
fn accept_loops_over_two_stores() {
    for mut store in [Features::new(), Features::new()] { for number in 0..5 { store.of(number).backward(); } }
}
fn reject_an_epoch_that_is_run_twice() {
    let features: Vec<Taped> = (0..5).map(|_| new_loss()).collect();
    let epoch = || { for one in features { one.backward(); } };
    epoch();
    epoch();
}
fn reject_features_by_name() {
    let cache: HashMap<String, Taped> = (0..5).map(|number| (number.to_string(), new_loss())).collect();
    for _ in 0..2 { for number in 0..5 { cache[&number.to_string()].backward(); } }
}
fn accept_features_by_name() {
    let mut cache: HashMap<String, Taped> = (0..5).map(|number| (number.to_string(), new_loss())).collect();
    for number in 0..5 { cache.remove(&number.to_string()).unwrap().backward(); }
}
fn reject_a_list_of_the_first_epoch() {
    let mut features: Vec<Taped> = vec![];
    for epoch in 0..2 { for number in 0..3 { if epoch == 0 { features.push(new_loss()); } features[number].backward(); } }
}
fn accept_a_list_of_each_epoch() {
    for _ in 0..2 { let mut features = vec![]; for _ in 0..3 { features.push(new_loss()); } for one in features { one.backward(); } }
}
fn reject_a_cached_encoder_output() {
    let mut cache: Option<Taped> = None;
    for _ in 0..2 { if cache.is_none() { cache = Some(new_loss()); } cache.unwrap().backward(); }
}
fn accept_features_that_are_popped() {
    let mut cache: HashMap<usize, Taped> = HashMap::new();
    for _ in 0..2 { for number in 0..5 { cache.entry(number).or_insert(new_loss()); cache.remove(&number).unwrap().backward(); } }
}
