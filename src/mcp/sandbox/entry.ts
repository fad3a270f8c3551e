// Where the processes around a confined command start: cli/main.ts comes here for a word that nobody types.

import { launch } from './launcher.ts';
import { probe } from './probe.ts';
import { supervise } from './supervisor.ts';

export function enter(role: string | undefined): void {
  if (role === 'supervise') supervise();
  if (role === 'launch') launch();
  if (role === 'probe') process.stdout.write(JSON.stringify(probe()));
}
