// Keeps secrets that people have to read once (the first key, the set-up link, approval links) out of logs: where
// standard output is no terminal, they go into a file of the data folder, readable by its owner only. Several processes
// may share the folder. What has lapsed leaves the file with the next entry, and the file stays small. The command line
// decides what is printed.

import { constants, fstatSync } from 'node:fs';
import { type FileHandle, lstat, open, rename, rm, unlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const NAME = 'printed-secrets.txt';
const MOST_BYTES = 256 * 1024;
const RETRY_MS = 20;
/** A process that was killed while it wrote leaves its draft behind. Writing takes milliseconds. */
const ABANDONED_MS = 5000;
const HEAD =
  'Toolgate writes here what it does not print (TOOLGATE_PRINT_SECRETS). Remove this file once you have read it.\n';

export interface PrintedSecret {
  /** An entry replaces the one of the same name. */
  name: string;
  text: string;
  /** ISO 8601; null if it does not lapse. */
  until: string | null;
}

export class SecretFile {
  readonly path: string;
  readonly #draft: string;

  constructor(dataDir: string) {
    this.path = resolve(join(dataDir, NAME));
    this.#draft = `${this.path}.new`;
  }

  /** Adds these entries, and removes those with the names in `gone`. Throws a sentence if the file cannot be written. */
  async keep(added: readonly PrintedSecret[], gone: readonly string[] = []): Promise<void> {
    try {
      await this.#rewrite(added, gone);
    } catch (error) {
      throw new Error(
        `${this.path}, which is for secrets that are not printed, cannot be written: ${(error as Error).message}. ` +
          'Mend that, or let them be printed with TOOLGATE_PRINT_SECRETS=always.',
        { cause: error },
      );
    }
  }

  async #rewrite(added: readonly PrintedSecret[], gone: readonly string[]): Promise<void> {
    const draft = await this.#openDraft();
    try {
      const replaced = new Set([...gone, ...added.map(each => each.name)]);
      const kept = entriesOf(await this.#text()).filter(each => !replaced.has(each.name) && isLive(each));
      await draft.writeFile(fileText([...kept, ...added]));
      await rename(this.#draft, this.path);
    } catch (error) {
      await unlink(this.#draft).catch(() => {});
      throw error;
    } finally {
      await draft.close();
    }
  }

  /** The draft is also the lock: only one process can make it. */
  async #openDraft(): Promise<FileHandle> {
    const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants;
    for (;;) {
      try {
        return await open(this.#draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        const found = await lstat(this.#draft).catch(() => null);
        // A process that was killed left it, or somebody has put something else there, such as a link or a folder.
        const isOurs = found === null || (found.isFile() && Date.now() - found.mtimeMs <= ABANDONED_MS);
        if (isOurs) await Bun.sleep(RETRY_MS);
        else await rm(this.#draft, { recursive: true, force: true });
      }
    }
  }

  /** What the file holds; nothing if somebody has put something else there, which the new file then replaces. */
  async #text(): Promise<string> {
    const file = await open(this.path, constants.O_RDONLY | constants.O_NOFOLLOW).catch(() => null);
    try {
      return file !== null && fstatSync(file.fd).isFile() ? await file.readFile('utf8') : '';
    } finally {
      await file?.close();
    }
  }
}

/** A heading begins a line. The lines of a text are indented, so none of them can pass for one. */
const HEADING = /^## (.+?)(?:, until (\S+))?\n/;

function entriesOf(text: string): PrintedSecret[] {
  return text.split(/^(?=## )/m).flatMap(part => {
    const [heading, name, until = null] = HEADING.exec(part) ?? [];
    return name === undefined ? [] : [{ name, until, text: part.slice(heading?.length) }];
  });
}

function isLive({ until }: PrintedSecret): boolean {
  return until === null || !(Date.parse(until) <= Date.now());
}

/** Beyond the limit the oldest entries that lapse are left out; the dashboard's inbox has those questions too. */
function fileText(entries: readonly PrintedSecret[]): string {
  const parts = entries.map(each => ({ lapses: each.until !== null, text: entryText(each) }));
  let bytes = parts.reduce((sum, { text }) => sum + Buffer.byteLength(text), HEAD.length);
  const fitting = parts.filter(({ lapses, text }) => {
    const left = lapses && bytes > MOST_BYTES;
    if (left) bytes -= Buffer.byteLength(text);
    return !left;
  });
  return [HEAD, ...fitting.map(({ text }) => text)].join('\n');
}

function entryText({ name, text, until }: PrintedSecret): string {
  const lines = text.trim().split('\n');
  const body = lines.map(line => `  ${line.trim()}`.trimEnd()).join('\n');
  return `## ${name}${until === null ? '' : `, until ${until}`}\n${body}\n`;
}
