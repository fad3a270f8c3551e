// What the launcher is told: the limits of one confined command, in terms of this machine. judge.ts says which limits
// hold here, and confine.ts makes the plan.

export interface Plan {
  /** The path of the program, and its arguments as it sees them. */
  program: string;
  argv: string[];
  env: Record<string, string>;
  /** What can be read and run; null: everything. */
  read: string[] | null;
  /** What can be written, and read too; null: everything. */
  write: string[] | null;
  network: boolean;
  /** In bytes. */
  memory: number | null;
  processes: number | null;
  /** The version of Landlock's interface to use; 0 for none. */
  landlock: number;
  /** Whether there is a seccomp filter, and whether it can ask the supervisor about forks. */
  filter: boolean;
  asks: boolean;
  /** Where the private folder is made. */
  temporary: string;
  /** The command line that starts our own program as a launcher. */
  launcher: string[];
}

/** What the supervisor reports to the service, as a line of JSON. */
export type Report =
  /** The command was not started. */
  | { kind: 'failed'; why: string }
  /** The command has ended, with this exit code or by a signal (null); `why` says that we ended it. */
  | { kind: 'ended'; code: number | null; why: string | null };

/** The descriptor on which a supervisor talks to the service, and a launcher to its supervisor. */
export const TALK = 3;

/** The first word of the command line of supervisor, launcher and probe. Nobody types it. */
export const CONFINED = 'confined-command';

/** What the probe says of this machine. */
export interface Features {
  /** Whether anything can be confined at all: Linux on one of two architectures. */
  supported: boolean;
  /** The version of Landlock's interface; 0, and why, if there is none. */
  landlock: number;
  noLandlock: string;
  filter: boolean;
  asks: boolean;
}

/** SIGHUP, SIGINT and SIGTERM: a supervisor ignores them, and ends when the service does. */
export const LEFT_TO_THE_SERVICE = [1, 2, 15];
