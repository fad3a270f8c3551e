// How the table of agents describes a tool: what each of its arguments means. acts-of.ts reads a call by it. An argument
// that the table does not name, or whose value is of another kind, makes the effects of the call unknown.

export type Argument =
  /** A file or folder that is read, written, or both. A relative path begins at the working folder. */
  | 'reads'
  | 'writes'
  | 'readsAndWrites'
  /** The same, where the tool looks elsewhere for a relative path that does not exist: only an absolute one is known. */
  | 'writesAbsolute'
  /** Command lines of a POSIX shell. */
  | 'runs'
  | 'fetches'
  /** A patch in Codex's format, whose lines name the files. */
  | 'patch'
  /** A folder to run in, which has to be the working folder: what it means for the command is not known otherwise. */
  | 'here'
  /** A pattern for names below the folder that is searched. */
  | 'names'
  /**
   * A filter of the files whose contents are searched, by names or by a type of ripgrep's: condition/file-types.ts says
   * which.
   */
  | 'files'
  | 'type'
  /** Values of these types, which have no effect outside of the agent. */
  | 'text'
  | 'number'
  | 'flag'
  | 'any'
  /** A switch that has to be off, if it is given. */
  | 'off';

export interface Tool {
  args: Readonly<Record<string, Argument>>;
  /** It touches nothing outside of the agent. */
  plans?: true;
  /** It reads the working folder unless an argument names another one. */
  searches?: true;
  /** It prints lines of hidden files, too, if it is asked for lines and is not narrowed by one of these arguments. */
  printsHiddenUnless?: readonly string[];
}

export type Tools = Readonly<Record<string, Tool>>;

/** A tool that touches nothing outside of the agent, and its arguments. */
export const plan = (...names: string[]): Tool => ({
  plans: true,
  args: Object.fromEntries(names.map(name => [name, 'any'])),
});

export const tool = (args: Tool['args']): Tool => ({ args });
