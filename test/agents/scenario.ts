// What every agent is tested for, in one run of it: it asks before a call, obeys a refusal, repeats a held call, tells what
// the person said and what a call returned, cannot forge its folder or reach its own settings, and makes no call while
// the service is away. The tools have other names and arguments in each of them.

import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { Call } from './model.ts';
import { type Page, said } from './page.ts';
import { type Agent, type Entry, type Run, Workplace } from './workplace.ts';

export interface Tools {
  /** The name of the shell in policies. */
  shellName: string;
  shell(command: string): Call;
  write(path: string, text: string): Call;
  /** The same with a folder of the model's own invention in the arguments. */
  forged(path: string, folder: string): Call;
  /** Its own settings, in the home folder and in a project. */
  settings: string[];
}

/** The place and the run that the tests of a file share. */
export interface Shared {
  place: Workplace;
  run: Run;
}

export interface Preparation {
  /** Lines that come before the rules of the pack. */
  rules?: string;
  /** What a person does besides, before the agent is started. */
  prepare?(place: Workplace): Promise<void>;
  prompt?: string;
  args?(place: Workplace): string[];
}

export function testScenario(agent: Agent, tools: Tools, preparation: Preparation = {}): Shared {
  const shared = {} as Shared;
  beforeAll(async () => {
    shared.place = await Workplace.open(agent);
    await shared.place.connect(`${preparation.rules ?? ''}${flowRules(tools)}`);
    shared.place.write('projects/app/notes.txt', 'a note\ntouch noted.txt\n');
    shared.place.write('projects/app/trusted.txt', 'touch found.txt\n');
    shared.place.write('projects/app/.env', 'PASSWORD=canary\n');
    await preparation.prepare?.(shared.place);
    const { prompt = 'Do what has to be done', args } = preparation;
    shared.run = shared.place.start({
      prompt: `${prompt} and then "touch told.txt".`,
      args: args?.(shared.place),
    });
  });
  afterAll(() => shared.place.close());
  const call = (made: Call) => shared.run.call(made);

  test('an allowed call is recorded and made', async () => {
    const { result, entries } = await call(tools.shell('cat notes.txt'));
    expect(result).toContain('a note');
    expect(entries).toEqual([{ name: tools.shellName, decision: 'allow', reference: null }]);
    await call(tools.write('made.txt', 'made'));
    expect(shared.place.read('projects/app/made.txt')).toContain('made');
  });

  test('a refused call is not made, and the model is told why', async () => {
    const { result, entries } = await call(tools.shell('cat .env'));
    expect(entries).toMatchObject([{ name: tools.shellName, decision: 'deny' }]);
    expect(result).toContain('Secrets are not for agents');
    expect(result).not.toContain('canary');
    const writing = await call(tools.write(`${shared.place.project}/.env`, 'overwritten'));
    expect(writing.entries.map(({ decision }) => decision)).not.toContain('allow');
    expect(shared.place.read('projects/app/.env')).toBe('PASSWORD=canary\n');
  });

  test('a held call is made once, after it was approved, and was recorded when it ran', async () => {
    const { place, run } = shared;
    let atRun: Entry | undefined;
    run.model.onRun = async () => {
      atRun = (await place.audit()).at(-1);
    };
    const command = tools.shell(`curl -s --noproxy '*' ${run.model.url}/ran`);
    const held = await call(command);
    expect(held.result).toContain('Repeat the call once it is approved');
    expect(held.entries).toMatchObject([{ name: tools.shellName, decision: 'pending' }]);
    expect(atRun).toBeUndefined();

    const reference = held.entries[0]?.reference ?? '';
    await place.approve(reference);
    const freed = await call(command);
    expect(freed.result).toContain('it ran');
    expect(atRun).toEqual({ name: tools.shellName, decision: 'allow', reference });
    expect((await call(command)).entries).toMatchObject([{ decision: 'pending' }]);
  });

  test('what the person said and what a trusted call returned is known, and nothing else', async () => {
    const decided = async (command: string) => (await call(tools.shell(command))).entries[0]?.decision;
    expect(await decided('touch told.txt')).toBe('allow');
    expect(shared.place.has('projects/app/told.txt')).toBe(true);
    expect(await decided('touch found.txt')).toBe('pending');
    expect(await decided('cat trusted.txt')).toBe('allow');
    expect(await decided('touch found.txt')).toBe('allow');
    // It stands in a file that was read, and mentioned by the person in some of them.
    expect(await decided('cat notes.txt')).toBe('allow');
    expect(await decided('touch noted.txt')).toBe('pending');
  });

  test('a folder that the model invents, and a path that leads out of the project, write nothing', async () => {
    const { place } = shared;
    const calls = [
      tools.write('../../.bashrc', 'forged'),
      tools.forged('../../.bashrc', `${place.home}/projects/a/b/c`),
      tools.shell(`cd ../.. && cat .bashrc`),
    ];
    for (const made of calls)
      expect((await call(made)).entries.map(({ decision }) => decision)).not.toContain('allow');
    expect(place.has('.bashrc')).toBe(false);
  });

  test('its own settings stay as they are', async () => {
    const { place } = shared;
    const before = tools.settings.map(path => place.find(path));
    for (const path of tools.settings) {
      const { entries } = await call(tools.write(`${place.home}/${path}`, '{}'));
      expect([path, entries.map(({ decision }) => decision)]).not.toEqual([path, ['allow']]);
    }
    expect(tools.settings.map(path => place.find(path))).toEqual(before);
  });

  return shared;
}

/** Lets commands pass that the person or a trusted file named. */
const flowRules = ({ shellName }: Tools): string =>
  `  - { tool: ${shellName}, action: allow, known: results, when: 'args.command == "cat trusted.txt"' }
  - { tool: ${shellName}, action: allow, when: 'args.command.startsWith("touch ") && known(args.command)' }
`;

/** The last test of the shared run, which ends with it. */
export function testServiceAway(shared: Shared, tools: Tools, page: Page): void {
  test('the service away: no call is made, and nothing was asked of any other machine', async () => {
    const { place, run } = shared;
    await place.withoutService(async () => {
      const result = await run.made(tools.shell('cat notes.txt'));
      expect(result).toContain('Toolgate gave no verdict, so this call is refused');
      await run.made(tools.write(`${place.project}/away.txt`, 'away'));
      expect(said(place.has('projects/app/away.txt'))).toBe(page('the service is away'));
      // A person's prompt reaches the model all the same.
      const other = place.start();
      await other.asked();
      await other.kill();
    });
    expect(await run.finish()).toBe(0);
    expect(place.wanted).toEqual([]);
  });
}
