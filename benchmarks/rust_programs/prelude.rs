// A model of tensors whose tape moves with them, as in dfdx: an op takes the tensor and gives its tape to the result.
#![allow(dead_code, unused)]
use std::collections::{HashMap, VecDeque};
use std::thread;

struct Grads;
impl Grads {
    fn len(&self) -> usize { 1 }
    fn add(self, other: Grads) -> Grads { self }
}

// A tensor without a tape.
#[derive(Clone)]
struct Plain;
impl Plain {
    fn trace(&self) -> Taped { Taped }
    fn traced(self) -> Taped { Taped }
    fn scale(&self, factor: f32) -> Plain { Plain }
    fn item(&self) -> f32 { 1.0 }
}

// A tensor that owns its tape: neither Copy nor Clone.
struct Taped;
impl Taped {
    fn sum(self) -> Taped { self }
    fn mean(self) -> Taped { self }
    fn exp(self) -> Taped { self }
    fn tanh(self) -> Taped { self }
    fn square(self) -> Taped { self }
    fn transpose(self) -> Taped { self }
    fn row(self, index: usize) -> Taped { self }
    fn scale(self, factor: f32) -> Taped { self }
    fn add(self, other: Taped) -> Taped { self }
    fn mul(self, other: Taped) -> Taped { self }
    fn sub(self, other: Taped) -> Taped { self }
    fn times(self, other: &Plain) -> Taped { self }
    fn mse(self, target: &Plain) -> Taped { self }
    fn split_tape(self) -> (Plain, Tape) { (Plain, Tape) }
    fn with_empty_tape(&self) -> Taped { Taped }
    fn backward(self) -> Grads { Grads }
    fn backward_retaining(&self) -> Grads { Grads }
    fn detach(&self) -> Plain { Plain }
    fn item(&self) -> f32 { 1.0 }
}

struct Tape;
impl Tape {
    fn new() -> Tape { Tape }
    fn execute(self) -> Grads { Grads }
    fn append(&mut self, other: Tape) {}
    fn add_backward_op(&mut self, op: i32) {}
    fn put(self, x: Plain) -> Taped { Taped }
    fn len(&self) -> usize { 0 }
}

struct Model;
impl Model {
    fn forward(&self, x: Taped) -> Taped { x }
    fn infer(&self, x: &Plain) -> Plain { Plain }
}

struct Optimizer;
impl Optimizer {
    fn step(&mut self, grads: Grads) {}
}

fn x() -> Plain { Plain }
fn y() -> Plain { Plain }
fn model() -> Model { Model }
fn optimizer() -> Optimizer { Optimizer }
fn flag() -> bool { std::env::args().count() > 1 }
fn way() -> usize { std::env::args().count() }
