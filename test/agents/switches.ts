// What turns an agent's hooks off, a project's own settings or an option, tried with a call that the policy holds.

import { expect } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Page, said } from './page.ts';
import type { Tools } from './scenario.ts';
import { hasNamespaces, type Workplace } from './workplace.ts';

export interface Switch {
  /** The files of the project. */
  files?: Record<string, string>;
  args?: string[];
}

/** Tries switches in a place, each in a run of its own, and compares the outcome with a line of the page. */
export class Switches {
  readonly #place: Workplace;
  readonly #tools: Tools;
  readonly #page: Page;

  constructor(place: Workplace, tools: Tools, page: Page) {
    this.#place = place;
    this.#tools = tools;
    this.#page = page;
  }

  async test(line: string, { files = {}, args }: Switch = {}): Promise<void> {
    const place = this.#place;
    for (const [path, text] of Object.entries(files)) place.write(`projects/app/${path}`, text);
    const run = place.start({ args });
    const path = `made-${crypto.randomUUID()}`;
    await run.made(this.#tools.shell(`touch ${path}`));
    await run.finish();
    for (const file of Object.keys(files)) rmSync(join(place.project, file));
    expect([line, said(place.has(`projects/app/${path}`))]).toEqual([line, this.#page(line)]);
  }

  /** The same once more, after `connect --managed`. */
  async testManaged(tried: Switch[]): Promise<void> {
    if (!hasNamespaces()) return;
    this.#place.ownMachine();
    await this.#place.toolgate(['connect', this.#place.agent.id, '--managed', '--yes']);
    for (const each of tried) await this.test('the same, after `connect --managed`', each);
  }
}
