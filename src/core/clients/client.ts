// What is known about a client that Toolgate can be connected to: its configuration files and what belongs into them.
// The command line edits these files, and the dashboard shows the same entries. clients.ts has the clients themselves.

import type { AgentName } from '../agents.ts';
import type { Json } from '../wire/json.ts';

/** Claude Desktop is a client, and no coding agent. */
export type ClientId = AgentName | 'claude-desktop';

export type Platform = 'linux' | 'macos' | 'windows';
/** For everything that a person does, or for one project. */
export type Scope = 'user' | 'project';
/** The shell that a client gives a hook's command to. */
export type Shell = 'sh' | 'cmd' | 'powershell';

/** JSON may have comments and commas at the end, which some clients allow. */
export type Format = 'json' | 'toml' | 'yaml';

/** What the entries of a file are made from. */
export interface Setup {
  /** The address of the service, without a slash at the end. */
  baseUrl: string;
  /** It is written into files of the user only. A file of a project names TOOLGATE_API_KEY instead. */
  key: string;
  /** The command line of the hook (command.ts), for calls, and for events that go on also if it fails. */
  command: string;
  telling: string;
}

export interface Entry {
  /** The keys that lead to it, from the root of the file. */
  at: readonly string[];
  /**
   * `set` gives the key this value, `append` adds an item to the list there, `default` sets a key that is missing.
   * `drop` is written by the client itself, for our entries; Toolgate only removes it together with them.
   */
  how: 'set' | 'append' | 'default' | 'drop';
  value: Json;
  /** For `append`: an item is ours if a text in it matches. */
  mark?: RegExp;
  /** What a hook tells Toolgate, if it is not about calls. */
  tells?: 'prompts' | 'results';
}

/** A path begins with `~/` (the home folder), with `%APPDATA%/`, or is relative to the project. */
export interface ConfigFile {
  format: Format;
  user: Record<Platform, string>;
  /** `null`: the client reads none in a project. */
  project: string | null;
  entries: (setup: Setup, scope: Scope) => Entry[];
}

/** What keeps the hook on whatever a project says: a file of the whole machine, and what belongs into it. */
export interface ManagedFile {
  file: SettingsFile;
  entries: (setup: Setup) => Entry[];
  /** What a project can still do. */
  open: string;
}

/** A file with settings of a client, also of one that Toolgate only reads. */
export interface SettingsFile {
  /** Whose settings they are: of the machine, of the person, or of a project. */
  of: 'machine' | 'user' | 'project';
  format: Format;
  path: Record<Platform, string>;
  /** An environment variable that names another file instead. */
  variable?: string;
}

/** The settings that turn the hooks of a client off. One in a project's own files turns off the hook of the person, too. */
export interface Switches {
  files: readonly SettingsFile[];
  /** The keys in a file that turn hooks, or ours, off. */
  off: (settings: Json, of: SettingsFile['of']) => string[];
  /** The keys that a file of the machine decides, so that no other file can. */
  decided: (settings: Json) => string[];
}

/** How long clients wait for the hook, which gives up sooner by itself (core/agents.ts). */
export const HOOK_SECONDS = 30;

export interface ClientFacts {
  /** `null`: Toolgate is only its MCP server. */
  hooks: ConfigFile | null;
  /** Missing where the client has no such file, or none that is known. */
  managed?: ManagedFile;
  /** The settings by which its hooks are turned off. Missing where none are known. */
  switches?: Switches;
  mcp: ConfigFile;
  /** What runs the command of a hook on Windows; elsewhere `sh` does. */
  windowsShell: Shell;
  /**
   * Whether a call is made when the hook gives no answer at all, because it cannot be started or takes too long. When
   * only the service is away, the hook itself refuses, and all clients block.
   */
  fails: 'closed' | 'open';
  /** One sentence about what is guarded, and about `fails`. */
  about: string;
  /** What people have to do themselves after the files are written. */
  next: string;
  /** A folder and programs by which it is found on a machine. */
  folder: Record<Platform, string>;
  programs: readonly string[];
  /** Environment variables that move its files: `from` at the beginning of a path becomes the variable and `to`. */
  moved: readonly { variable: string; from: string; to: string }[];
}

export interface Client extends ClientFacts {
  id: ClientId;
  name: string;
}

/** The same path on all platforms. */
export function everywhere(path: string): Record<Platform, string> {
  return { linux: path, macos: path, windows: path };
}
