//! The dataflows. Rows have three columns; relations with two leave the last one zero.

use differential_dataflow::VecCollection;
use differential_dataflow::operators::iterate::Variable;
use timely::dataflow::Scope;
use timely::order::Product;

pub type Time = u32;
pub type Diff = i32;
pub type Row = [u32; 3];
pub type Collection<'a> = VecCollection<'a, Time, Row, Diff>;

type Round = Product<Time, u32>;
type Inside<'a> = VecCollection<'a, Round, Row, Diff>;

/// A dataflow, and the names of the relations that it reads.
pub struct Program {
    pub name: &'static str,
    pub inputs: &'static [&'static str],
    pub build: for<'a> fn(Vec<Collection<'a>>) -> Collection<'a>,
}

static PROGRAMS: [Program; 4] = [
    Program { name: "closure", inputs: &["Edge"], build: closure },
    Program { name: "same-generation", inputs: &["Edge"], build: same_generation },
    Program { name: "rdfs", inputs: &["T"], build: rdfs },
    Program { name: "shortest-paths", inputs: &["Road"], build: shortest_paths },
];

impl Program {
    pub fn find(name: &str) -> Option<&'static Self> {
        PROGRAMS.iter().find(|program| program.name == name)
    }

    pub fn names() -> String {
        PROGRAMS.iter().map(|program| program.name).collect::<Vec<_>>().join("|")
    }
}

/// Reach(x, y) :- Edge(x, y). Reach(x, z) :- Reach(x, y), Edge(y, z).
fn closure(inputs: Vec<Collection>) -> Collection {
    let edge = only(inputs);
    let step = edge.clone().map(|[x, y, _]| (x, y)).arrange_by_key();
    fixpoint(edge, |scope, reach| {
        let ends = reach.map(|[x, y, _]| (y, x)).arrange_by_key();
        ends.join_core(step.enter(scope), |_, &x, &z| Some([x, z, 0]))
    })
}

/// Same(x, y) :- Edge(p, x), Edge(p, y), x != y. Same(x, y) :- Edge(a, x), Same(a, b), Edge(b, y).
fn same_generation(inputs: Vec<Collection>) -> Collection {
    let edge = only(inputs);
    let down = edge.map(|[x, y, _]| (x, y)).arrange_by_key();
    let siblings = down.clone().join_core(down.clone(), |_, &x, &y| (x != y).then_some([x, y, 0]));
    fixpoint(siblings, |scope, same| {
        let down = down.enter(scope);
        let half = same.map(|[a, b, _]| (a, b)).arrange_by_key().join_core(down.clone(), |_, &b, &x| Some((b, x)));
        half.arrange_by_key().join_core(down, |_, &x, &y| Some([x, y, 0]))
    })
}

const TYPE: u32 = 0;
const SUBCLASS: u32 = 1;
const SUBPROPERTY: u32 = 2;
const DOMAIN: u32 = 3;
const RANGE: u32 = 4;

/// The six rules over one relation of triples, whose schema may be derived. The numbers of its terms are given.
fn rdfs(inputs: Vec<Collection>) -> Collection {
    fixpoint(only(inputs), |_, triples| {
        let with = |property: u32| triples.clone().filter(move |t| t[1] == property);
        let pairs = |property: u32| with(property).map(|[s, _, o]| (s, o)).arrange_by_key();
        let reversed = |property: u32| with(property).map(|[s, _, o]| (o, s)).arrange_by_key();
        let data = triples.clone().map(|[s, p, o]| (p, (s, o))).arrange_by_key();
        let (subclass, subproperty) = (pairs(SUBCLASS), pairs(SUBPROPERTY));
        data.clone()
            .join_core(pairs(DOMAIN), |_, &(s, _), &class| Some([s, TYPE, class]))
            .concatenate([
                data.clone().join_core(pairs(RANGE), |_, &(_, o), &class| Some([o, TYPE, class])),
                data.join_core(subproperty.clone(), |_, &(s, o), &p| Some([s, p, o])),
                reversed(SUBPROPERTY).join_core(subproperty, |_, &x, &z| Some([x, SUBPROPERTY, z])),
                reversed(SUBCLASS).join_core(subclass.clone(), |_, &x, &z| Some([x, SUBCLASS, z])),
                reversed(TYPE).join_core(subclass, |_, &x, &z| Some([x, TYPE, z])),
            ])
    })
}

/// The least sum of lengths on a path from each place to each other one.
fn shortest_paths(inputs: Vec<Collection>) -> Collection {
    let road = only(inputs);
    let outer = road.scope();
    let step = road.clone().map(|[x, y, km]| (x, (y, km))).arrange_by_key();
    outer.iterative::<u32, _, _>(|scope| {
        let (variable, paths) = Variable::new(scope, Product::new(0, 1));
        let ends = paths.map(|[x, y, km]: Row| (y, (x, km))).arrange_by_key();
        let next = ends
            .join_core(step.enter(scope), |_, &(x, a), &(z, k)| Some([x, z, a + k]))
            .concat(road.enter(scope))
            .map(|[x, y, km]| ((x, y), km))
            .reduce(|_, lengths, shortest| shortest.push((*lengths[0].0, 1)))
            .map(|((x, y), km)| [x, y, km]);
        variable.set(next.clone());
        next.leave(outer)
    })
}

/// What follows from `start` if `grow` is applied until it finds nothing new.
fn fixpoint<'a>(
    start: Collection<'a>,
    grow: impl for<'b> FnOnce(Scope<'b, Round>, Inside<'b>) -> Inside<'b>,
) -> Collection<'a> {
    let outer = start.scope();
    outer.iterative::<u32, _, _>(|scope| {
        let (variable, rows) = Variable::new(scope, Product::new(0, 1));
        let next = grow(scope, rows).concat(start.enter(scope)).distinct_core::<Diff>();
        variable.set(next.clone());
        next.leave(outer)
    })
}

fn only(inputs: Vec<Collection>) -> Collection {
    inputs.into_iter().next().expect("one input")
}
