//! What is judged from records and articles.

mod audit;
mod capacities;
mod effects;
mod history;
mod itself;
mod keeping;
mod made_up;
mod offered;
mod soundness;
mod sweeps;
mod symptoms;
mod verdicts;
mod witnesses;
