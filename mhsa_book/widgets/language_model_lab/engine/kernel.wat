;; A matrix that is stored in blocks of 32 numbers, times vectors. Blocks are read where they lie:
;; unpacked, the model would take five times the memory. A row is unpacked into $row once, and then
;; meets every vector. plain.js does the same without WebAssembly, number for number.
;;
;; A block of 4 bits (Q4_1 of ggml, 20 bytes): scale and least number in half precision, then 16
;; bytes whose lower halves are numbers 0 to 15 and whose upper halves are numbers 16 to 31.
;; A block of 8 bits (Q8_0 of ggml, 34 bytes): scale in half precision, then 32 signed bytes.
(module
  (import "page" "memory" (memory 1))

  ;; A half: once its bits lie where a float has them, its exponent is too small by 112. A product
  ;; with 2^112 repairs that, for subnormal halves as well.
  (func $half (param $at i32) (result f32)
    (local $bits i32)
    (local.set $bits (i32.load16_u (local.get $at)))
    (f32.copysign
      (f32.mul
        (f32.reinterpret_i32
          (i32.shl (i32.and (local.get $bits) (i32.const 0x7fff)) (i32.const 13)))
        (f32.const 0x1p112))
      (f32.reinterpret_i32 (i32.shl (local.get $bits) (i32.const 16)))))

  ;; Sixteen bytes without a sign become sixteen floats: scale * number + least.
  (func $spread (param $bytes v128) (param $scale v128) (param $least v128) (param $to i32)
    (local $eight v128)
    (local.set $eight (i16x8.extend_low_i8x16_u (local.get $bytes)))
    (v128.store (local.get $to) (f32x4.add (local.get $least) (f32x4.mul (local.get $scale)
      (f32x4.convert_i32x4_u (i32x4.extend_low_i16x8_u (local.get $eight))))))
    (v128.store offset=16 (local.get $to) (f32x4.add (local.get $least) (f32x4.mul (local.get $scale)
      (f32x4.convert_i32x4_u (i32x4.extend_high_i16x8_u (local.get $eight))))))
    (local.set $eight (i16x8.extend_high_i8x16_u (local.get $bytes)))
    (v128.store offset=32 (local.get $to) (f32x4.add (local.get $least) (f32x4.mul (local.get $scale)
      (f32x4.convert_i32x4_u (i32x4.extend_low_i16x8_u (local.get $eight))))))
    (v128.store offset=48 (local.get $to) (f32x4.add (local.get $least) (f32x4.mul (local.get $scale)
      (f32x4.convert_i32x4_u (i32x4.extend_high_i16x8_u (local.get $eight)))))))

  (func $block4 (param $from i32) (param $to i32)
    (local $bytes v128) (local $scale v128) (local $least v128)
    (local.set $scale (f32x4.splat (call $half (local.get $from))))
    (local.set $least (f32x4.splat (call $half (i32.add (local.get $from) (i32.const 2)))))
    (local.set $bytes (v128.load offset=4 align=1 (local.get $from)))
    (call $spread (v128.and (local.get $bytes) (i8x16.splat (i32.const 15)))
      (local.get $scale) (local.get $least) (local.get $to))
    (call $spread (i8x16.shr_u (local.get $bytes) (i32.const 4))
      (local.get $scale) (local.get $least) (i32.add (local.get $to) (i32.const 64))))

  ;; A signed byte with its highest bit turned over is that byte plus 128: nothing is rounded.
  (func $block8 (param $from i32) (param $to i32)
    (local $turn v128) (local $scale v128) (local $least v128)
    (local.set $turn (i8x16.splat (i32.const 128)))
    (local.set $scale (f32x4.splat (call $half (local.get $from))))
    (local.set $least (f32x4.mul (local.get $scale) (f32x4.splat (f32.const -128))))
    (call $spread (v128.xor (v128.load offset=2 align=1 (local.get $from)) (local.get $turn))
      (local.get $scale) (local.get $least) (local.get $to))
    (call $spread (v128.xor (v128.load offset=18 align=1 (local.get $from)) (local.get $turn))
      (local.get $scale) (local.get $least) (i32.add (local.get $to) (i32.const 64))))

  ;; One row of $width numbers; gives where the next row begins.
  (func $unpack (export "unpack")
    (param $bits i32) (param $from i32) (param $width i32) (param $to i32) (result i32)
    (local $end i32)
    (local.set $end (i32.add (local.get $to) (i32.shl (local.get $width) (i32.const 2))))
    (loop $blocks
      (if (i32.eq (local.get $bits) (i32.const 4))
        (then
          (call $block4 (local.get $from) (local.get $to))
          (local.set $from (i32.add (local.get $from) (i32.const 20))))
        (else
          (call $block8 (local.get $from) (local.get $to))
          (local.set $from (i32.add (local.get $from) (i32.const 34)))))
      (local.set $to (i32.add (local.get $to) (i32.const 128)))
      (br_if $blocks (i32.lt_u (local.get $to) (local.get $end))))
    (local.get $from))

  (func $total (param $sums v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $sums)) (f32x4.extract_lane 1 (local.get $sums)))
      (f32.add (f32x4.extract_lane 2 (local.get $sums)) (f32x4.extract_lane 3 (local.get $sums)))))

  ;; The row times one vector. Four sums at once: each waits for its own last addition only.
  (func $dot (param $row i32) (param $x i32) (param $width i32) (result f32)
    (local $end i32) (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local.set $end (i32.add (local.get $row) (i32.shl (local.get $width) (i32.const 2))))
    (loop $along
      (local.set $a (f32x4.add (local.get $a) (f32x4.mul
        (v128.load (local.get $row)) (v128.load (local.get $x)))))
      (local.set $b (f32x4.add (local.get $b) (f32x4.mul
        (v128.load offset=16 (local.get $row)) (v128.load offset=16 (local.get $x)))))
      (local.set $c (f32x4.add (local.get $c) (f32x4.mul
        (v128.load offset=32 (local.get $row)) (v128.load offset=32 (local.get $x)))))
      (local.set $d (f32x4.add (local.get $d) (f32x4.mul
        (v128.load offset=48 (local.get $row)) (v128.load offset=48 (local.get $x)))))
      (local.set $row (i32.add (local.get $row) (i32.const 64)))
      (local.set $x (i32.add (local.get $x) (i32.const 64)))
      (br_if $along (i32.lt_u (local.get $row) (local.get $end))))
    (call $total (f32x4.add
      (f32x4.add (local.get $a) (local.get $b)) (f32x4.add (local.get $c) (local.get $d)))))

  ;; The row times four vectors, $next bytes apart; the results lie $apart bytes apart from $y on.
  (func $dots (param $row i32) (param $x i32) (param $width i32) (param $y i32) (param $apart i32)
    (local $end i32) (local $w v128) (local $next i32)
    (local $x1 i32) (local $x2 i32) (local $x3 i32)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local.set $next (i32.shl (local.get $width) (i32.const 2)))
    (local.set $x1 (i32.add (local.get $x) (local.get $next)))
    (local.set $x2 (i32.add (local.get $x1) (local.get $next)))
    (local.set $x3 (i32.add (local.get $x2) (local.get $next)))
    (local.set $end (i32.add (local.get $row) (local.get $next)))
    (loop $along
      (local.set $w (v128.load (local.get $row)))
      (local.set $a (f32x4.add (local.get $a)
        (f32x4.mul (local.get $w) (v128.load (local.get $x)))))
      (local.set $b (f32x4.add (local.get $b)
        (f32x4.mul (local.get $w) (v128.load (local.get $x1)))))
      (local.set $c (f32x4.add (local.get $c)
        (f32x4.mul (local.get $w) (v128.load (local.get $x2)))))
      (local.set $d (f32x4.add (local.get $d)
        (f32x4.mul (local.get $w) (v128.load (local.get $x3)))))
      (local.set $row (i32.add (local.get $row) (i32.const 16)))
      (local.set $x (i32.add (local.get $x) (i32.const 16)))
      (local.set $x1 (i32.add (local.get $x1) (i32.const 16)))
      (local.set $x2 (i32.add (local.get $x2) (i32.const 16)))
      (local.set $x3 (i32.add (local.get $x3) (i32.const 16)))
      (br_if $along (i32.lt_u (local.get $row) (local.get $end))))
    (f32.store (local.get $y) (call $total (local.get $a)))
    (local.set $y (i32.add (local.get $y) (local.get $apart)))
    (f32.store (local.get $y) (call $total (local.get $b)))
    (local.set $y (i32.add (local.get $y) (local.get $apart)))
    (f32.store (local.get $y) (call $total (local.get $c)))
    (local.set $y (i32.add (local.get $y) (local.get $apart)))
    (f32.store (local.get $y) (call $total (local.get $d))))

  ;; $n vectors of $width floats at $x, times a matrix of $out rows at $matrix; $out floats for
  ;; each vector at $y. $row has room for one row.
  (func (export "times")
    (param $bits i32) (param $matrix i32) (param $out i32) (param $width i32)
    (param $x i32) (param $n i32) (param $y i32) (param $row i32)
    (local $i i32) (local $left i32) (local $vector i32) (local $to i32)
    (local $size i32) (local $apart i32)
    (local.set $size (i32.shl (local.get $width) (i32.const 2)))
    (local.set $apart (i32.shl (local.get $out) (i32.const 2)))
    (loop $rows
      (local.set $matrix (call $unpack
        (local.get $bits) (local.get $matrix) (local.get $width) (local.get $row)))
      (local.set $left (local.get $n))
      (local.set $vector (local.get $x))
      (local.set $to (i32.add (local.get $y) (i32.shl (local.get $i) (i32.const 2))))
      (block $done
        (loop $fours
          (br_if $done (i32.lt_u (local.get $left) (i32.const 4)))
          (call $dots (local.get $row) (local.get $vector) (local.get $width)
            (local.get $to) (local.get $apart))
          (local.set $left (i32.sub (local.get $left) (i32.const 4)))
          (local.set $vector
            (i32.add (local.get $vector) (i32.shl (local.get $size) (i32.const 2))))
          (local.set $to (i32.add (local.get $to) (i32.shl (local.get $apart) (i32.const 2))))
          (br $fours)))
      (block $done
        (loop $ones
          (br_if $done (i32.eqz (local.get $left)))
          (f32.store (local.get $to)
            (call $dot (local.get $row) (local.get $vector) (local.get $width)))
          (local.set $left (i32.sub (local.get $left) (i32.const 1)))
          (local.set $vector (i32.add (local.get $vector) (local.get $size)))
          (local.set $to (i32.add (local.get $to) (local.get $apart)))
          (br $ones)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $rows (i32.lt_u (local.get $i) (local.get $out))))))
