// How many things the doctor finds bad, for the navigation. It is asked some time after the dashboard was opened and then
// now and again, only for admins and only while somebody looks, since a run asks every server that the service needs.

import { signal } from '@preact/signals';
import { get } from './api.ts';
import type { DoctorReport } from './resources.ts';
import { mayAdminister } from './session.ts';

/** Null until the doctor has looked. */
export const badThings = signal<number | null>(null);

const FIRST_MS = 15_000;
const AGAIN_MS = 10 * 60_000;

export function tellHealth({ checks }: DoctorReport): void {
  badThings.value = checks.filter(({ state }) => state === 'bad').length;
}

async function look(): Promise<void> {
  if (document.hidden || !mayAdminister.value) return;
  // Whoever opens the page of the doctor sees why it cannot answer.
  await get<DoctorReport>('/doctor').then(tellHealth, () => {});
}

export function startHealth(): void {
  setTimeout(look, FIRST_MS);
  setInterval(look, AGAIN_MS);
}
