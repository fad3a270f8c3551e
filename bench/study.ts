// A study is a measurement that is made once, by itself, before the rounds. It yields findings: figures with names that
// targets can refer to.

import { type Figure, summarise } from './figure.ts';
import type { Place } from './service.ts';

export interface Finding {
  name: string;
  label: string;
  unit: string;
  figure: Figure;
}

export interface Study {
  name: string;
  title: string;
  /** A sentence about the conditions. */
  how: string;
  /** The study takes a minute or so, and runs only by name or with --all. */
  slow?: boolean;
  run(place: Place): Promise<Finding[]>;
}

/** The findings of a study that was made. */
export interface Studied extends Pick<Study, 'name' | 'title' | 'how'> {
  findings: Finding[];
}

/** A finding in milliseconds: the figure of one value of every round. */
export const millisecondsOf =
  <Round>(rounds: readonly Round[]) =>
  (name: string, label: string, pick: (round: Round) => number): Finding => ({
    name,
    label,
    unit: 'ms',
    figure: summarise(rounds.map(pick)),
  });
