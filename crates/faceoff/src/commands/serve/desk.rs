//! Who reads records and makes pages of them: one thread, so that serving takes one CPU at most, and while a run goes on only what nobody
//! else wants of it.

use model::history::{Chapter, History};
use model::judgement::Verdict;
use model::record::Record;
use model::shelf::{self, Glance, Shelved};
use model::under_way::UnderWay;
use report::site::{self, Brief, Choice, Live, OverTime, Told, refusal};
use rustix::time::{ClockId, clock_gettime};
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};

/// A longer record is not read.
const LONGEST: u64 = 256 << 20;
/// So many runs are remembered that somebody watched.
const MOST_WATCHED: usize = 4;
/// After judging a run that goes on, so many times as long passes before it is judged again.
const REST: u32 = 100;
/// For so long records that nobody judged are judged for one page.
const JUDGING_FOR_A_PAGE: Duration = Duration::from_secs(2);

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ask {
    /// All records, narrowed by a search.
    List(String),
    /// The page of a record.
    Record(String),
    /// A run that goes on; whether the page is to stand still.
    Live(String, bool),
    /// Two records side by side.
    Compare(String, String),
    /// The metrics of an experiment over its records: which experiment, whether in its quick form, and which metric is shown.
    Experiment(String, bool, String),
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A page of the site.
    Page(String),
    /// The page of a record, which carries a script of its own.
    Record(String),
    /// There is no such thing.
    Missing(String),
    /// It is there and cannot be shown.
    Failed(String),
}

/// A record's file as it was when it was read.
type Stamp = (u64, SystemTime);

/// A run that somebody watches.
struct Watched {
    stamp: Stamp,
    record: Record,
    judged: Vec<(u32, Vec<Verdict>)>,
    rest_until: Instant,
    since: Instant,
    cpu_before: Duration,
}

/// The records of a folder, and what was made of them.
pub struct Desk {
    root: PathBuf,
    briefs: HashMap<String, (Stamp, Result<Brief, String>)>,
    /// The last page that was made.
    page: Option<(String, Stamp, String)>,
    /// The last histories, and the records that they were made of.
    histories: (Vec<(String, Stamp)>, Vec<History>),
    watched: HashMap<String, Watched>,
}

fn stamp(shelved: &Shelved) -> Stamp {
    (shelved.bytes, shelved.written)
}

impl Desk {
    /// Of a folder.
    pub fn open(root: PathBuf) -> Desk {
        Desk { root, briefs: HashMap::new(), page: None, histories: Default::default(), watched: HashMap::new() }
    }

    /// Answers; what a record makes go wrong is said, and ends nothing else.
    pub fn answer(&mut self, ask: &Ask) -> Reply {
        guarded(|| self.answer_or_panic(ask)).unwrap_or_else(Reply::Failed)
    }

    fn answer_or_panic(&mut self, ask: &Ask) -> Reply {
        let shelf = shelf::records(&self.root);
        self.glance(&shelf);
        let is_measuring = shelf.iter().any(|shelved| self.is_live(shelved));
        yield_to_others(is_measuring);
        match ask {
            Ask::List(search) => self.list(&shelf, search, is_measuring),
            Ask::Record(id) => found(&shelf, id).and_then(|shelved| self.page(shelved)).unwrap_or_else(|reply| reply),
            Ask::Live(id, is_still) => found(&shelf, id).and_then(|shelved| self.live(shelved, *is_still)).unwrap_or_else(|reply| reply),
            Ask::Compare(a, b) => self.compare(&shelf, a, b).unwrap_or_else(|reply| reply),
            Ask::Experiment(name, is_quick, chosen) => self.experiment(&shelf, name, *is_quick, chosen),
        }
    }

    /// Reads the beginning and the end of whatever is new or has changed, and forgets what is gone.
    fn glance(&mut self, shelf: &[Shelved]) {
        self.briefs.retain(|id, _| shelf.iter().any(|shelved| shelved.id == *id));
        for shelved in shelf {
            if self.briefs.get(&shelved.id).is_some_and(|(at, _)| *at == stamp(shelved)) {
                continue;
            }
            let brief = shelved.glance().map_err(|e| plain(&e)).and_then(|Glance { record, judgement }| {
                let told = judgement.map(|judgement| guarded(|| Told::of(&record, judgement))).transpose()?;
                Ok(Brief { id: shelved.id.clone(), record, told })
            });
            self.briefs.insert(shelved.id.clone(), (stamp(shelved), brief));
        }
    }

    fn brief(&self, id: &str) -> Option<&Brief> {
        self.briefs.get(id)?.1.as_ref().ok()
    }

    /// Whether a run may be writing it: it has not ended, and was silent for no longer than a trial may take.
    fn is_live(&self, shelved: &Shelved) -> bool {
        let Some(brief) = self.brief(&shelved.id) else { return false };
        brief.record.ended().is_none() && silent(shelved) <= longest_silence(&brief.record)
    }

    /// Has records told what they come to, for as long as a reader waits.
    fn judge_some<'s>(&mut self, some: impl Iterator<Item = &'s Shelved>) {
        let begun = Instant::now();
        some.take_while(|_| begun.elapsed() < JUDGING_FOR_A_PAGE).for_each(|shelved| self.judge(shelved));
    }

    fn list(&mut self, shelf: &[Shelved], search: &str, is_measuring: bool) -> Reply {
        self.judge_some(shelf.iter().filter(|_| !is_measuring));
        let choices: Vec<Choice<'_>> = shelf
            .iter()
            .filter_map(|shelved| {
                let brief = self.briefs.get(&shelved.id)?.1.as_ref().map_err(String::as_str);
                Some(Choice { id: &shelved.id, bytes: shelved.bytes, brief, is_live: self.is_live(shelved) })
            })
            .collect();
        Reply::Page(site::list(&self.root.display().to_string(), &choices, search).html())
    }

    /// Has a record told what it comes to, where nothing beside it does.
    fn judge(&mut self, shelved: &Shelved) {
        let Some((_, kept)) = self.briefs.get_mut(&shelved.id) else { return };
        let Some(brief) = kept.as_mut().ok().filter(|brief| brief.told.is_none()) else { return };
        let told = read(shelved).and_then(|record| guarded(|| Told::of(&record, judge::judge(&record))).map_err(Reply::Failed));
        match told {
            Ok(told) => brief.told = Some(told),
            Err(Reply::Failed(why)) => *kept = Err(why),
            Err(_) => {}
        }
    }

    fn experiment(&mut self, shelf: &[Shelved], name: &str, is_quick: bool, chosen: &str) -> Reply {
        let is_of = |brief: &Brief| brief.record.header.experiment.name == name && brief.record.header.quick == is_quick;
        let of_it: Vec<&Shelved> = shelf.iter().filter(|s| self.brief(&s.id).is_some_and(is_of)).collect();
        self.judge_some(of_it.into_iter());
        let all = || self.briefs.values().filter_map(|(_, brief)| brief.as_ref().ok());
        let of_name: Vec<&Brief> = all().filter(|brief| brief.record.header.experiment.name == name).collect();
        let of_form: Vec<&Brief> = of_name.iter().copied().filter(|brief| brief.record.header.quick == is_quick).collect();
        let Some(newest) = of_form.iter().max_by_key(|brief| &brief.record.header.recorded_at).or(of_name.first()) else {
            return Reply::Missing(format!("There is no record of an experiment `{name}` in this folder."));
        };
        let chapters: Vec<Chapter<'_>> = of_form
            .iter()
            .filter_map(|brief| {
                let (header, told) = (&brief.record.header, brief.told.as_ref().filter(|told| told.answer.outcome != "unsound")?);
                Some(Chapter { record: &brief.id, recorded_at: &header.recorded_at, machine: &header.machine, verdicts: &told.verdicts })
            })
            .collect();
        let mut made_of: Vec<(String, Stamp)> = chapters.iter().map(|c| (c.record.to_owned(), self.briefs[c.record].0)).collect();
        made_of.sort_unstable();
        if self.histories.0 != made_of {
            self.histories = (made_of, judge::history::histories(&chapters));
        }
        let page = site::over_time(&OverTime {
            experiment: name,
            question: &newest.record.header.experiment.question,
            is_quick,
            has_other_form: of_name.len() > of_form.len(),
            histories: &self.histories.1,
            chosen,
            left_out: of_form.len() - chapters.len(),
        });
        Reply::Page(page.html())
    }

    fn page(&mut self, shelved: &Shelved) -> Result<Reply, Reply> {
        let now = stamp(shelved);
        if let Some((_, _, page)) = self.page.as_ref().filter(|(id, at, _)| *id == shelved.id && *at == now) {
            return Ok(Reply::Record(page.clone()));
        }
        let record = read(shelved)?;
        let page = report::html(&record, &judge::judge(&record));
        self.page = Some((shelved.id.clone(), now, page.clone()));
        Ok(Reply::Record(page))
    }

    fn compare(&mut self, shelf: &[Shelved], a: &str, b: &str) -> Result<Reply, Reply> {
        for shelved in [found(shelf, a)?, found(shelf, b)?] {
            self.judge(shelved);
        }
        let brief = |id: &str| match self.briefs.get(id) {
            Some((_, Ok(brief))) => Ok(brief),
            Some((_, Err(why))) => Err(Reply::Failed(why.clone())),
            None => Err(missing(id)),
        };
        Ok(Reply::Page(site::compare(brief(a)?, brief(b)?).html()))
    }

    fn live(&mut self, shelved: &Shelved, is_still: bool) -> Result<Reply, Reply> {
        if !self.watched.contains_key(&shelved.id) && self.watched.len() >= MOST_WATCHED {
            let oldest = self.watched.iter().min_by_key(|(_, watched)| watched.since).map(|(id, _)| id.clone());
            oldest.and_then(|id| self.watched.remove(&id));
        }
        let watched = match self.watched.entry(shelved.id.clone()) {
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
            std::collections::hash_map::Entry::Vacant(new) => {
                let (since, cpu_before) = (Instant::now(), cpu_of(ClockId::ProcessCPUTime));
                let record = read(shelved)?;
                new.insert(Watched { stamp: stamp(shelved), record, judged: Vec::new(), rest_until: since, since, cpu_before })
            }
        };
        if watched.stamp != stamp(shelved) {
            let record = read(shelved)?;
            if record.header.recorded_at != watched.record.header.recorded_at {
                watched.judged.clear();
            }
            (watched.record, watched.stamp) = (record, stamp(shelved));
        }
        watched.look();
        let silent = silent(shelved);
        let under_way = UnderWay::beside(&watched.record).filter(is_there);
        let page = site::live(&Live {
            id: &shelved.id,
            record: &watched.record,
            judged: &watched.judged,
            silent,
            under_way: under_way.as_ref(),
            is_given_up: under_way.is_none() && silent > longest_silence(&watched.record),
            cpu: cpu_of(ClockId::ProcessCPUTime).saturating_sub(watched.cpu_before),
            watched: watched.since.elapsed(),
            is_still,
        });
        Ok(Reply::Page(page.html()))
    }
}

impl Watched {
    /// Judges the record once more blocks are complete, and then rests for long.
    fn look(&mut self) {
        let complete = self.record.complete_blocks();
        let has_ended = self.record.ended().is_some();
        if complete == 0
            || self.judged.last().is_some_and(|(blocks, _)| *blocks == complete)
            || (!has_ended && Instant::now() < self.rest_until)
        {
            return;
        }
        let before = cpu_of(ClockId::ThreadCPUTime);
        self.judged.push((complete, judge::judge(&self.record).verdicts));
        self.rest_until = Instant::now() + cpu_of(ClockId::ThreadCPUTime).saturating_sub(before) * REST;
    }
}

/// What is made of a record, or that it cannot be made: a record that nobody foresaw ends nothing else.
fn guarded<T>(make: impl FnOnce() -> T) -> Result<T, String> {
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(make));
    made.map_err(|_| "This record cannot be shown: what stands in it was not foreseen.".to_owned())
}

fn found<'s>(shelf: &'s [Shelved], id: &str) -> Result<&'s Shelved, Reply> {
    // What is asked is only compared with what was found: no path is made of it.
    shelf.iter().find(|shelved| shelved.id == id).ok_or_else(|| missing(id))
}

fn missing(id: &str) -> Reply {
    Reply::Missing(format!("There is no record `{id}` in this folder."))
}

fn read(shelved: &Shelved) -> Result<Record, Reply> {
    if shelved.bytes > LONGEST {
        return Err(Reply::Failed(format!("{} is too long to be shown here: `faceoff report` makes its page.", shelved.id)));
    }
    Record::read(&shelved.folder).map_err(|e| Reply::Failed(plain(&e)))
}

/// What went wrong, in a sentence.
fn plain(problems: &model::problem::Problems) -> String {
    problems.list().iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; ")
}

fn silent(shelved: &Shelved) -> Duration {
    SystemTime::now().duration_since(shelved.written).unwrap_or_default()
}

/// Whether the process that told it runs still: what one left that was killed is past.
fn is_there(told: &UnderWay) -> bool {
    runner::running_since_ticks(told.process.id) == Some(told.process.began_ticks)
}

/// For so long nothing may be written while a trial goes on: twice what it is expected to take from a slow start, and two minutes.
fn longest_silence(record: &Record) -> Duration {
    let experiment = &record.header.experiment;
    let at_most = |cell: &_| experiment.measured_at_most(cell);
    experiment
        .trial_estimate(Duration::from_secs(60), experiment.design.warmup, at_most)
        .saturating_mul(2)
        .saturating_add(Duration::from_secs(120))
}

fn cpu_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Puts the calling thread below everybody while something is measured on this machine, and back again after that.
fn yield_to_others(is_measuring: bool) {
    let class = if is_measuring { libc::SCHED_IDLE } else { libc::SCHED_OTHER };
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: `priority` outlives the call, which reads it and nothing else. Where it is refused, the thread goes on as it is.
    unsafe { libc::sched_setscheduler(0, class, &priority) };
}

/// A page that says why there is nothing else, with its status.
pub fn as_page(reply: Reply) -> (u16, String) {
    match reply {
        Reply::Page(html) | Reply::Record(html) => (200, html),
        Reply::Missing(why) => (404, refusal("Not found", &why)),
        Reply::Failed(why) => (500, refusal("Cannot be shown", &why)),
    }
}
