// Reads URLs, a JSON string per line, and writes for each the host that the URL Standard gives it, by itself and as a
// link on a page, its scheme, and its path with the query. Nothing where there is none.
'use strict';

function parsed(...where) {
  try {
    return new URL(...where);
  } catch {
    return {hostname: '', protocol: '', pathname: '', search: ''};
  }
}

const lines = require('fs').readFileSync(0, 'utf8').split('\n');
lines.pop();
const answers = lines.map((line) => {
  const url = JSON.parse(line);
  const {hostname, protocol, pathname, search} = parsed(url);
  return `${hostname}\t${parsed(url, 'http://page.test/a/').hostname}\t${protocol}\t${pathname}${search}\n`;
});
process.stdout.write(answers.join(''));
