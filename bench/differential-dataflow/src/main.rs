//! Programs of the benchmarks, written by hand for differential dataflow.
//!
//!     differential-dataflow PROGRAM [WORKERS]
//!
//! Reads changes and commits from standard input, a line each:
//!
//!     +Edge<TAB>1<TAB>2     insert a row of numbers
//!     -Edge<TAB>1<TAB>2     delete one
//!     commit
//!
//! After each commit it prints the seconds from the first change handed to the dataflow until all results are
//! known, the processor time of all threads in between, and the size of the result, separated by tabs. Lines
//! are parsed before the time of a commit begins. One worker reads them; rows are distributed by their hashes.

mod programs;

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::Instant;

use differential_dataflow::input::{Input, InputSession};
use programs::{Collection, Diff, Program, Row, Time};
use timely::dataflow::ProbeHandle;
use timely::worker::Worker;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

static SIZE: AtomicI64 = AtomicI64::new(0);

fn main() {
    let mut arguments = std::env::args().skip(1);
    let Some(program) = arguments.next().and_then(|name| Program::find(&name)) else {
        eprintln!("usage: differential-dataflow {} [WORKERS]", Program::names());
        std::process::exit(2);
    };
    let workers = arguments.next().map_or(Ok(1), |number| number.parse());
    let Ok(workers @ 1..) = workers else {
        eprintln!("the number of workers must be a positive number");
        std::process::exit(2);
    };
    let config = if workers == 1 { timely::Config::thread() } else { timely::Config::process(workers) };
    let done = timely::execute(config, move |worker| {
        let mut running = Running::start(program, worker);
        if worker.index() == 0
            && let Err(problem) = running.serve(worker)
        {
            eprintln!("{problem}");
            std::process::exit(1);
        }
    });
    if let Err(problem) = done {
        eprintln!("{problem}");
        std::process::exit(1);
    }
}

/// The dataflow of one worker.
struct Running {
    program: &'static Program,
    inputs: Vec<InputSession<Time, Row, Diff>>,
    probe: ProbeHandle<Time>,
}

impl Running {
    fn start(program: &'static Program, worker: &mut Worker) -> Self {
        let mut probe = ProbeHandle::new();
        let inputs = worker.dataflow(|scope| {
            let (inputs, relations): (Vec<_>, Vec<Collection>) =
                program.inputs.iter().map(|_| scope.new_collection()).unzip();
            (program.build)(relations)
                .inspect_batch(|_, changes| {
                    let more: i64 = changes.iter().map(|(_, _, diff)| i64::from(*diff)).sum();
                    SIZE.fetch_add(more, Relaxed);
                })
                .probe_with(&probe);
            inputs
        });
        Self { program, inputs, probe: std::mem::take(&mut probe) }
    }

    fn serve(&mut self, worker: &mut Worker) -> Result<(), Box<dyn Error>> {
        let mut changes = Vec::new();
        for line in stdin().lock().lines() {
            let line = line?;
            if line == "commit" {
                self.commit(worker, &mut changes)?;
            } else {
                changes.push(self.parse(&line).ok_or_else(|| format!("not understood: {line}"))?);
            }
        }
        Ok(())
    }

    fn parse(&self, line: &str) -> Option<(usize, Row, Diff)> {
        let (name, values) = line.get(1..)?.split_once('\t')?;
        let diff = match line.as_bytes()[0] {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let mut row = Row::default();
        for (place, value) in values.split('\t').enumerate() {
            *row.get_mut(place)? = value.parse().ok()?;
        }
        Some((self.program.inputs.iter().position(|known| *known == name)?, row, diff))
    }

    fn commit(&mut self, worker: &mut Worker, changes: &mut Vec<(usize, Row, Diff)>) -> std::io::Result<()> {
        let (start, used) = (Instant::now(), processor_time());
        for (input, row, diff) in changes.drain(..) {
            self.inputs[input].update(row, diff);
        }
        let next = self.inputs[0].time() + 1;
        for input in &mut self.inputs {
            input.advance_to(next);
            input.flush();
        }
        worker.step_while(|| self.probe.less_than(&next));
        let (seconds, cpu) = (start.elapsed().as_secs_f64(), processor_time() - used);
        writeln!(stdout(), "{seconds:.9}\t{cpu:.9}\t{}", SIZE.load(Relaxed))?;
        stdout().flush()
    }
}

/// Seconds that all threads of this process have used.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a value that lives as long as the call.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
