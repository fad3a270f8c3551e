// How far a target is behind the sealed log.

import { entryIdAt, readSealing } from '../../../store/log/seals.ts';
import { listShipping, type ShippingState } from '../../../store/log/shipping.ts';
import type { Deps } from '../../deps.ts';
import { timeOfId } from '../../ids.ts';

export interface ShippingLag {
  /** The number of sealed places. */
  size: number;
  /** Sealed places that the target has not confirmed. */
  entries: number;
  /** When the oldest entry among them was made; null if there are none. */
  since: number | null;
}

export async function shippingLag({ db }: Deps, shipped: number): Promise<ShippingLag> {
  const { size } = await readSealing(db);
  if (shipped >= size) return { size, entries: 0, since: null };
  const oldest = await entryIdAt(db, shipped);
  return { size, entries: size - shipped, since: oldest === null ? null : timeOfId(oldest) };
}

export interface ShippingReport extends ShippingLag {
  name: string;
  /** Null until the target has begun. */
  state: ShippingState | null;
}

/** One report for each of the targets, in their order. */
export async function shippingReports(deps: Deps, names: readonly string[]): Promise<ShippingReport[]> {
  const states = new Map((await listShipping(deps.db)).map(state => [state.name, state]));
  const reports: ShippingReport[] = [];
  for (const name of names) {
    const state = states.get(name) ?? null;
    reports.push({ name, state, ...(await shippingLag(deps, state?.shipped ?? 0)) });
  }
  return reports;
}
