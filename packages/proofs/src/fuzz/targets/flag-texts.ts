/** What the values of Go's flags are made of. */
export const FLAG_TOKENS = [
  ...[
    '\n',
    '\n--',
    '-',
    '=',
    ',',
    ':',
    'true',
    'false',
    'T',
    '0',
    '1h2m3.5s',
    '1e3s',
    '-1ns',
    '5µs',
  ],
  ...['unix:/run/tap', 'tcp:', 'file:/', ',identity='],
  ...['10.0.0.1:53', '[::1]:53', 'a.b', '65536', '--v=2', '--help', 'raw', '_', '$HOME', '${x}'],
];
