// What a preset is: a well-known tool server, as it is registered here. The files beside this one are the presets, and
// presets.ts lists them. A preset never becomes a command by itself: its declaration is text that somebody puts into the
// server file.

interface Known {
  /** The name under which the rules of its pack know the server. */
  name: string;
  title: string;
  /** Whoever publishes the server. */
  by: string;
  /** The pack with a policy for it. */
  pack: string;
  /** What has to be there before it can be used, a sentence each. */
  needs: string[];
  /** The page that says so. */
  source: string;
  /** The day on which the page was read, and a package was found in its registry. */
  readOn: string;
}

export type Preset = Known & (OverHttp | OverStdio);

export interface OverHttp {
  transport: 'http';
  url: string;
  /** What the server accepts, the recommended way first. */
  accepts: readonly ('oauth' | 'headers')[];
  /** The headers that it needs if people do not sign in to it, with a word in angle brackets for a secret. */
  headers: Readonly<Record<string, string>>;
}

export interface OverStdio {
  transport: 'stdio';
  /** The package with its version. */
  package: { registry: 'npm' | 'PyPI'; name: string; version: string };
  /** The command that installs it, where the declaration expects it; null if it is fetched when it is first started. */
  install: string | null;
  /** What belongs under `stdioServers` in the server file. */
  declaration: string;
}
