// Every class as TypeScript sees it; the compiler reads this, nothing runs it.
import {
  Answer, ConfirmedSeen, Filter, Gate, GateFollower, Guard, Hot, MankaiError, Removal, Seen, guardMiddleware, kinds, plan, url, verify,
} from 'mankai';
import type { Keys, Maybe } from 'mankai';

async function all(): Promise<void> {
  const filter: Filter = await Filter.create('f.mk', { keys: 1e6, kind: 'scalable-bloom', growth: 2, durability: 'always' });
  filter.add('a', { id: 1n });
  filter.update(new Set(['a', Buffer.from('b'), 7, 8n]), { at: new Date() });
  const packed: Keys = { data: new Uint8Array(1), offsets: new Int32Array([0, 1]) };
  const found: Uint8Array = filter.hasMany(packed);
  const removed: boolean = filter.remove('a') === Removal.REMOVED;
  const number: number = filter.batch((batch) => { batch.position = Buffer.from('1'); return 7; });
  const later: number = await filter.batch(async () => 7);
  await filter.close();
  const disposables: { [Symbol.dispose](): void; [Symbol.asyncDispose](): Promise<void> }[] = [filter];

  const seen = new Seen({ keys: 1000, window: 60_000 });
  for (const row of seen.first([{ id: 'a' }], (one) => one.id)) console.log(row.id);
  for (const text of seen.first(['a'])) console.log(text.length);
  const exact = ConfirmedSeen.openSync('seen.log');
  exact.commitSync();

  const hot = await Hot.open(new URL('file:///hot.mk'), { halfLife: 1000 });
  hot.observe('a', Date.now());
  const last: Date = hot.top(1)[0].lastSeen;

  const { guard, report } = await Guard.build(['hosts.txt', ['evil.example']], { exact: true });
  const isBlocked: boolean = guard.check('http://a.example/').answer === Answer.BLOCKED;
  guardMiddleware({ guard, parameters: ['url'] });

  const gate: Gate | GateFollower = await GateFollower.open('gate.mk');
  const maybe: Maybe | null = gate.maybe('a', { after: 1n });
  if (maybe !== null) gate.report('a', maybe);
  const row: { id: number } | null = await gate.get('a', async () => ({ id: 1 }));

  try {
    await verify('f.mk');
  } catch (error) {
    if (error instanceof MankaiError && error.code === 'MANKAI_LOCKED') console.log(error.osError);
  }
  console.log(disposables, found, removed, number, later, last, report.rules, isBlocked, row, kinds()[0].name, plan(10), url.parse('http://a.b/').host);
}
void all;
