// What a call of a coding agent would do, as its door found it out: the variable `agent` of conditions. The door makes it of
// what the harness says (the folder in which the agent works) and of the table of the agent's tools; nothing of it comes
// from the model but the arguments that the table names.

/** What the call would do. Paths are absolute and normalised. */
export interface Acts {
  reads: readonly string[];
  writes: readonly string[];
  /** Command lines. */
  runs: readonly string[];
  /** URLs. */
  fetches: readonly string[];
  /** True if it touches nothing outside of the agent. */
  plans: boolean;
}

export interface AgentCall {
  /** The working folder, as the harness names it; null if it names none. */
  folder: string | null;
  /** Null where the door does not know the tool, or met an argument that it does not know. */
  acts: Acts | null;
}
