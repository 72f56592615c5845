"""Two whole datasets that the reference implementation wrote: the path of each file and its bytes.

``cities``: three polls of a CSV file, Snapshot strategy. ``sensors``: three NDJSON files, Ledger strategy, columns
renamed by a vocabulary, a preprocess query, info, licence and attachments.
"""

from __future__ import annotations

import base64
import zlib


def unpack(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


DATASETS = {
    "cities": {
        "refs/head": b"f16206ad99eed43c278a2331d0373331599726c65169f3a830a553ff56a6b948dbed0",
        "info/alias": b"cities",
        "blocks/f16205f132235a7ab3e12b28492f28504c2f4d241cfeaa6baf47e86f24b3fb9292ed9": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVGVBxBgY+BjmgWhDgBqrnA9IKECXML9gZGKoYkAEb2Ew2IIsFiJWA+C1jV2JkS7VU
            72LTW9PqQ2fc2RIYp3n9WdanLW0bKvqVDH42MDAAAHRaFRQ=
            """
        ),
        "blocks/f1620d447685b5e61f4b8c4d9517807a775a5550903fc94098b4f3dbc0bc268dc9a90": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVBYwQcQYGPgY9Bhmwem6gej6EKhZGBgSQAXJesDMwVDEgAzGgTmmwOcJA/SAAMkMM
            SEtAFDD7QGjGJVA66////yxABhPUXSxQnJxZUglSwA5i55fmlRRVMgiA/QAD7EA+xAwWqH9MgFgBql8Q5Kf8gtKcxJLM/DwFJ093
            T78QsHsgZisEhwR5+rmD/Qc1HyYEBGzgsGKDmqUBxGmZOalW+vr6JbkF+tmJuaW66fk5Kal5uuXF+kDjMlOL9YvzS4uSU0G6lUAh
            oRAvrGS6fLWd0KaWSZ9aWQ59ueR4/tWyXV/q2j552+/U1LvJwAAAmco9mw==
            """
        ),
        "blocks/f1620c86c6db0f6fb2757e2002600e06fbcc3962ca6e2830c9c28bdaa0a28f5feea9b": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVHxgh4gwMfAwaQNUiQPXcQPV8QBEdqCFMULULgGpfsDMwVAPZDQUQMQ6wySxAmgGo
            EwTYwPaxgUUZGIDKGVyA+iSA+AbIDCDOAGILqPyjf///Q/QxiIDcseT///8cED7PE6AcyPSC/ILSnMSSzPw8Bgah/6jqryDUS4gA
            2SAzkzNLKkECdkC+CFStDNitEL9xgNkQPR5ANSA3JueX5pUUVTIUIcwXlwASZ+DmM4LDLjTEGezj1LLUvJL4kszcVAaGZQh7xBWg
            9nCh2IPQyw2kiyuLS1JzIZofIezjBqm9AeSDwju/ABJ/AlA3g+wUgIYLDzjsWMDhBwrn/LS04tQSBgYlIFtM4Yp7RnRc4pcdR24G
            VrAvL10aysn8Zwpnt7/tHu5DGXdmTWBgAABw7mBg
            """
        ),
        "blocks/f1620df1c8dff9f65e4e0834883f57b026b1b4cc2f318e64fb662fc1b6a4817216edf": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVDYwQcQYGPgYdBhmwem6gej6giAVECSMzAwLoANW/YGdgqAbpLYCICTDIgWkJIAbZ
            JQCkVRgQ6gqSIOpyoG4SQHITD1StBdR9RgZGJroGproGRiEG5lYGBkAUBdIlCMT5KWn6OYnFJbq5+SmZaZmpKUAxoBUMKalpiaU5
            JUCzJIBmgExnAZv7lwNiL8hcBSB2AbsP5DoWBpAUE5K/lIBYTGFXh0LL1agwTo35vNslGmtmcNgJMksvevAxTjVpzvO87+cYGFSB
            6qY1HGBU8FnXqCHF+fT6jBlcr7XnuP9P+b+//bCg8GX3OWpza97UyMDNPJGTu+Hbb/XwRwxqDA/y9xyeprPsUTPPHI29q7g0vv57
            NZuBAQDVSUpB
            """
        ),
        "blocks/f16209b4664d895de7f5cea30749d2429351ab14a97f4b90a1e6f870edc4a5f9c6825": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVExgh4gwMfAwaQNUiQPXcQPV8QBETiBJGFqhaB6DaF+wMDDVAdkMBREyAQQtIygB1
            MoDtEQDSBgwIdQVJEHUVQMzEgAy4gGoRbuMBYhUgtoC608jAyETXwFTXwDjEwNzKwACIokC6BIE4PyVNPyexuEQ3Nz8lMy0zNQUo
            BrSOISU1LbE0pwRoFsgfINNZwObKc0JsBJmrAcQ+YLdKgOU5gGw2qIuYkVynBMRiCo/fH/14KKry1M2DJkUmPl/mbrcr33vEfXLW
            jUgT25J3txYyMKgC1U1rOMCocLmpp+Xbo+N/O/4LzoyKkJnfGJ6U0ixwPDV/0ZIrrZnsz+Bm3pfp/T8/9cmDZo/mr9VM2dI+hz5L
            PPPflvRHOstDXDHvPgMDAHDdT0o=
            """
        ),
        "blocks/f16206ad99eed43c278a2331d0373331599726c65169f3a830a553ff56a6b948dbed0": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVExgh4gwMfAwaQNUiQPXcQPV8QBETiBJGVqhaB6DaF+wMDLVAdkMBREyAQQtIygB1
            MoDtEQDSBgwIdQVJEHUVQMzGgAy4gGoRbuMBYhUgtoC608jAyETXwFTXwCTEwNzKwACIokC6BIE4PyVNPyexuEQ3Nz8lMy0zNQUo
            BrSOISU1LbE0pwRoFsgfINNZwOYe5YDYCDJXA4h9wG6VAMtzgNkQwI7kOiUgFlNIubWeXS3W6PHB7d8c8wpmJezefD+sXNg1MPby
            CTZu1W0RDAyqQHXTGg4wKnA9eS5aGZZ5Q2CNMxvLVuW1mnubuJwVu8W4vmzeUhtWtx1u5my3lBtT79XHvDIomauiaSq10Wv6l51c
            cvntfHe84udkAA0EADHtRjU=
            """
        ),
        "data/f1620ba882084d55a5609289f0db718817c98083e11031ba2e0f15e25629ce76ef7ce": unpack(
            """
            eNqNVs1PG0cUn13Wy0LdyiBm5K320EqwpQiBoVBBhKrOGhPzGXsTOyWXyDYLofIHwosJUhShKIceolSqeqqqHDn0D8ipt/aQY9RT
            lTPHqOpfUPW92dmPgtN2BTNv3sfvvfd7M4gSd+eoRnN0eovqlIwSkiXkfWVFIcGnyp0SatD0NPhk4FcnREurA+MEQkG9RVURqqWl
            K2gTrqpGdFBl6FjoaFjky/LSt8r/dD4vf/ivzuN0Mqx+dBUrznNcVwu4Vm5D2BjNJsKGx9GgK7IDh66F4R+fD4GlWms3Oic97zgF
            h81fXjbbgyDc9mq+3/T+Cy1H5yMq00b9E6IoK8XnGcHiZH0hZPPdGOaoamYNyTsBMZqBajISmLXApF1RGyGtCTFpDolMiAmzmuew
            AF+o+tQmeqBOCQbM7FBEyxUHI2wPxKjD2MViJTrD0GyxC4VOSfFcjcQ3sfhqgN7AelgaT5eaPE3h6W1KnBD7WTFdOz7unN7vNh54
            rRr9AJifIFm9s7/f9XzwgIPaOQq073XPur7Xuu8ftryJ0a1nI5YV1IjGYa/ntf3rtvSEmh2Edtv+8dkE2bJCndY49COFBorho87R
            SbPmH3bahOmmZT6yiUU1c5HoGTOsiKpMZz3Ws0u2YcUTjcfMyGQf7cgIMafhTkFDeGcysBH26xAdYxc6/YJgIlUmgm5Fkg3m2heK
            /dgKLkewAnri1Bf19yHK2KVOZ0iy/CR1At5l9+xz1X6tWPENiyXs4rq2b74/MN93g7KLMF9iGlG6N6r9k2rFNzaWMN11bd90T4ch
            3eswXVqmCwcsx/PYfjVgPx2wPieT8AzwPfTBWmFpca8J+2GYWuy5ISkLMcUFEYDfK+xHxb7U7CcaQsbvRz6pvuBTEvwlgv9sUOef
            /MSXTaR4orBvFPttyn6RsuLHF79IZOi6tl/i5SDtb8jTXwZdI+zPFF5n+EM2SpjBXuhj+ECzae66t+7eCN5d9jw1i9/ygcM5L/Pg
            2+T8lOcP+AaqYOfckZYynDlf54Eq3OFroHSKCNu8wPktDMp30OLhsnqKawGXoxLkeyiCdiWqwx9g6nx3tjc7GxYh3YP8RafXKFa7
            u1+5R/X5Bc53vgaQpYqADt3Lle0odFvYBcDufDPnBaBl7pRFdZwvyboPgizOgYgK63HcCAn9CpKaYoC3PFdvu2de2akgdWvC6zR0
            3yxGkasFtOej+oJSq1UXdqTGae61qid7a8u52t25JnRaRv/iFbyNuJR1OZcC1s0l/0GJWLpTrRa2eR5DizuLjc/cZr0qsXfuIB+i
            iZsxnODvIc7jLNluCA2cB1OoSG1J8rAuz7vJIkBqiHmJYspYxzpPXKpwnoLqm8ute+2d5h6IJGvu1fza/kkX3sRH8LjEvrgwMzeT
            Mx/BX+nrP4TDTS/BPz5/A8v4jMg=
            """
        ),
        "data/f1620e3efc5f1c25a79cad9c13472344cf49db73e77bdc447936ad859343d74eedaa1": unpack(
            """
            eNqFVs1PG0cUn/2wvXasyiBm5K1WFQfY0ArxkQYEEa2YNSYmGIKt4pQoUmSMIVTGRtjgIEUV4tBDFdGIQ5RDL+0pilopp6qHqIdy
            i3KocsohR/6EHqqe+t7sjHcTXGVlZt+8j99785v3Vqzw4jg16SydylOLkl5C+k2DxDVixmOzJEL8JyrflIBTchiWFI1S0JpJ3Tgn
            ANBPBxRAakYHVwP+tA+GpWhfnuoizHLIj+0vftCEu0mtkLtuEkvlMGWOo8LHU+h89OusCorSRCjIsDQjAe4DdCgPGozqncPKMhzX
            uSyu80WI66PpUFxiAA2WphuPsI4ZOqvCP2nFwVIq1yuN/YPqHpKzePZbrW6CkD9s1D8ENUtnOiQnrfXLRNPM52dxayZ3khI89f8U
            U3z9H9A5sXt1O20ZkloQO5ej24z4ZtM3mca7aksxHBLDZsUpiorWwKxnOCzAGKo+dYnlqyOCAzsd7xDznoOljgXi87PLQa2+i8Pu
            0BGGZoe91DriU51+JsVTgw5L8dik17AelsLdk4jcTeLuWVTsEPthLlne22u07zYr96o7ZfoR0D9I0tHG5maz2gIP2OiNXV97qXnY
            bFV37ra2d6qDvfmHPY7j14jGRPWgWm9dtCUH9XQMjltv7R0OkryjdGZlu9VRmKBI7DZ292vl1najTphlO/YDlzjUtCdINGWriqjO
            LPadxo41945rOcGdBhfNyFAXbU8PsYdxJqiOXZOCF2HHCdrHzqP0S4KpdJkKzivSbLK6+1Jzv9ccvz/8ZgH40K4r7OMEZeznGB0h
            4ROE2RP4RXbbfaq7/wB+p8kCCY9xUds13y+Y76+YPIbKF7oQkW6D1dxTw32tO0HTBp2M6S5qu6b7E9OdWDJdUqZTdyxyHbBv3WPT
            /cNwJskQTAKORBesGZYSrU3YmwR12CtLUqYwRY8IwBONPdbcJxH3hYmQwQjJqeoKPinB/0bwfy3qvctP0G8ixakGP/dZ1H0dcYL5
            C4YSGbqo7ZZ42k/76BLw9CJO5wn7PYodDR+0Xmht9jbahzOaTvJi8eata/7opY8io/hMb3mc8wL3n0XO2zyzxW+gCt6ce9JSgD3n
            C9xXqTc8FZTaiLDEs5zfxKBMAy1VXObauGZx2V2BfPdF0JpE9fg9TJ1pjh6MjqoipLufP+cdVHKl5trXxd31K1c5X/4GQKZWBbRy
            L6wudUKXhF0ArF2pjVV90AL3CqI6zqdk3Vt+Fm9LRKl6vGIHCf2ykpqcjzc9vl4vHlYL3ipSNy+82sp9MdeJnMuiPdOpzy+1VCrC
            G6nxahs7pf2N+emx8q3xGpy0gP659/BuBKUsyHvJYt1c8u+XiKV7pVJ2iWcwNLc8Ufm8WFsvSezlr5APcYjrAZzg7z7ex2H4uAoa
            OPdvYVVqVyQPC3K/Fi4CpIq4L1FMAetY4KGmUvcpqL4+vXO7vlzbAJGk7Y1yq7y534SZ6IfhEu+JqyPjI2P2A/hQX/yROfjUrsC/
            Rv8Bi1ubnQ==
            """
        ),
        "data/f162064daaf07265d32e3c1b7f6416e709a60bbb3df56771345515dd3c8060b25b658": unpack(
            """
            eNqFVs1rG0cUH61W0toVRRaeQQt78KFe0hL8kcauVdLSWUXKOrEda4mV2pQGWVorLvrCWlsW5KA/IFAoJbcGWnIwhf4LOfgPKD31
            0EPPJfTc5tBD583H7toS7SJ23rz35vf7zZs3knapt4p1vIDf22IDyiOUu5NB4jHkiBFO49mbLJ5jRhqhpJFIanw6r1YZlsYyk/+b
            rcls9PY75+sEz9axEcvWdKRfFzT+6bNPIHk801KLplNkcU5RpOdBUMVjuYw4liuU6glOc0WTzvxbo173v5dcUbbwvShW7u+MKlUe
            k9jSmQWxlOkz85pZMFRxmRnWVzMJc0BY13hIT151G6pcMTMeVgUCU9UoCmsVj7+4630b6ZIL9iqHayFD7YuZ4daiFIu4+CaBsEVe
            JUJzrOEPpPlGC72XSbwOSogBswtdznIwe5nCG0RgP3ez9ZOT3vDJoPHU79Txu6wxFlEh3Ts6GvgBy2ATrdcX3ncGo0Hgd54Exx1/
            Mb/1fM6yhEYIzvpnfjeYjGUXtUKm0TvtBiejRbRlKZ/eOA5Ch84cs/1e/7RdD457XUR00zKf2cjCurmG0jlTKcIa0UmTtG3XNqzo
            LKMDJujGFO/cHDKhPdiGEO8zduDkDwPPk19T+FMERJokYrvlJI/IF/arhB1Yoi1EjzD02Gwq6j8GJuTbNF5Ccfnx0nF4jxzYY83+
            JWFFvRVZsItJ71S+b2YY32Va7kLxxU4jLNkbzf5Rs6JejRoY6Ca9U+kugG6ckXRZSacOmHMdkEP7Mmm/SFrr6Aa7AHAJpmDdIQbv
            a0Rez2CLvM7IkilM3iAc8EtyZF/o9lsOyC+OuD5TQXMS9DcA/TOD16/WJWoyDt0n5/bLlP27bkVXLrqHUJdJ7zTaoiD9C6rzg4Er
            iLxIQROzL6w8Igb5OTUP17KQpZ738PHH4rYVxqlleIoth1JapeJ5QOmQllr0PrjYSKkjI1U2p3STCpca2dMAawgI27RM6UNYVOpB
            xIfX3SG8y/Dq7zK+c75oX6I69ClQlwbLZ8vLSoRMF/yuc9Zwa4P9z73+4a3blO58xUA29ji0Sq/ubYdLt3mcA+zfaq/4ArRKnSpX
            R+mG1N0SLE6Lr1J6HC9EgryyLI0r8Iqrh11v5FedPShdhWcNVfoDN1x5twzxUqhPSK3VPDZCaZx2s1M7bVaKK/XHq2220yrku9fw
            7kdSNuW5lEE3lfUXEkG6U6uVt2kJlro7a40PvfZhTWLvPIJ68E3ci+B4/c7hPEbx7SpoVnNxCnvSuyvrsCnn+3ERzGrw8+JiqqBj
            k8aaSp0nL/W9Yuegu9NuMhMVzGY9qB+dDtiNWDjzT/i4dntpdWnFfMa+myc/6CP2A7vL/sD8C+DGhkg=
            """
        ),
    },
    "sensors": {
        "refs/head": b"f1620a30fc19c21abfedcdf6d6a7296ef32971107c7e54c1e08249dac9647ac77def2",
        "info/alias": b"sensors",
        "blocks/f1620cb676b5c4c8dbbda1743d39dda9caacc204332c8e36bee01e58bd70c69e2a1e3": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVGVBxBgY+BjmgWhDgBqrnA9IKECXML9gZGKoYkAEb2Ew2IIsFiJWA+C3jirrFl2Ra
            GKzsVVf+mMVg7xmi++Xjmws+qbdqpzsoSpYC1QAAWCgShQ==
            """
        ),
        "blocks/f1620186a144514a92ba67c219babfc144d2b6b1f12e242d7f231882fabf3e1201b35": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVB6DiDAx8DDoMMmD13ED1fEARA4gSDkYGBMgB4hfsDAxVSGIcUDs4wGwGBg0gZoKa
            ywLEQOUMuYdXlhxemQ9mF6fmFecXFTNIAtlBqYkpmXnpxQr5aQolGUWpqQowWQYGJSAWUzidnh3j07v7lrjz5bm35qw6o+BsdOJx
            9jvGp93XeTIfLXzMwAAAyr4nrw==
            """
        ),
        "blocks/f16205fcb67041eb94ce1fcca68ce3c39079f1abe1e06ee2a34b07daa7afdd9791500": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVDIwQcQYGPgYNoGoRoHpuoHo+oIgBRAUnE1TpBiB+wc7AUIXQDVQtwiAAtYMHyBeA
            mu4DxAVArAPEGSUlBcVW+vrJRamJJZllqcn5ubn5ecV6+UXp+jmZyal5xanF+kmV+iZ6BvpgC4HY2VnXKVIXKAJkK4D4UL0KzhDN
            Co4lJUWZSaUlmfl5ChBlGPqUgFhMQSJLxFVkpfayGsXZq/+I+Gpnyws9crr+ybBDf/XnhwrSpgwMANqQMq0=
            """
        ),
        "blocks/f162015f3164368f45afc15a75b88a8cae1e00e258e8b571d5353e92ab82ac200d673": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVF6DiDAx8DBpA1SJA9dxA9XxAER2IEnZmqNoGIH7BzsBQxYAAHECTOYHqOYBsHpAA
            IxvYPjYgkwXEhYpzQN3BAWYzMKgAsRQQKysEp+YV5xcVc3GFZBSlpirkpymUZKTm6gEdzAmUD3J1dPF11ctNAbKVgFhMIf50Oovc
            Tp+Hf05lnLOxZJ8vtU+O7Z2WyYbaVVV/b1aKAtUAAHDtHvs=
            """
        ),
        "blocks/f16207077f8701b42af69aadc455a4c3790a471d8efeda13e5a4d5498df96c1e88673": unpack(
            """
            eNpNUs0uA1EUPqqpCdUIbdMEyQmVyNDWz8bCQtHQpFS0ImE10dtOtZ2RuTOReAKJxNob8AjWlh7Amh1bLAXn/rTc5OT83O9855tz
            Jw7dMwgpiIIBYYoA4mT9sr7WQ9ghVQeIgUnoOOGHCB+jyqqChMMamyLs6wDABfw/SUjDNExQNE7dY7o/STkqQKiqfF+6T/rIjfKh
            9++fH8Ed0tpEHCHjzOGuB6QboMMsHnisJhqi8lukJIrU/b3u9+W9qBny3tB8JcnXZic+dqnmUQ2YxxPW5s2A9wI0cTG7gnO4vIQW
            x7ple8yxWdPHuud2sOG6Uoehd2poDbNkE39zTIVuOmeBj+c28xi6LdB6uhziPWqWb9UD3nQduRbJGdE4YdtkC2LvOhc9bgvXy+VS
            Ib8L8o26yjfLB+ulAsBwb39Yqe4Xd7coH/23R6wWdwqVan5nD2Ckt0+lbkQ8kp6VJsv5nbNcy+oEmYbbrjEnc85zipvnzKxTO+VK
            +ZT4CzDxkdywP4++ErfHl3ePL8+xmeurw8lK5c28Nx/giQP8AoxpbPM=
            """
        ),
        "blocks/f1620bdc47a5af3b026bc16aaf7d83a2d65bebcd06c26c000abd7590b995b2bae2e80": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVO6DiDAx8DBpA1SJA9dxA9XxAEQOIEjZWqNoMIH7BzsBQxYAAPEAdAlA7eIB8ASCW
            AWINqH4OIM5NTSwuLUpNYYDyi1KT84tSIHw2IE7OSMxLT4W4rTi1kEEJSIspFJT/KJB2Wp+56o5rlI/5hCWFN96/XWgX5Rsy4/60
            gy/aihkYAPqPIPc=
            """
        ),
        "blocks/f162082743b0c73962517aaa6192584606f3505bf5ba28c3e6e972a4e3cc9517ac59d": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVHxgh4gwMfAwaQNUiQPXcQPV8QBEdqCFsULULgGpfsDMwVAPZDQUQMQ6wySxAmgGo
            EwTYwPaxgUUZGIDKGTyA+iSA+AbIDCDOAGILqPy9f///Q/QxiIDcseT///8cUKMfAOVApqclZhSl5mWkZpYAXfkfVf0VJPUCQDbI
            vuTUnOLM0mIGKyBfBKpWBuxWiN84wGwwkHABqgG5tTg1rzi/iIEhD2G+uASQOAM3nxEcdqEhzmC9uamJxaVFqSkgmUUIe8QVoPZw
            odiDqrcoNTm/KAWi9x7CPm4OqH9A7knOSMxLT4XEoQDU3aCwEICo5eEBhx8LOAyZwe4vZFAC0mIKe49URX3eoLZHbNX3G1a6qfv2
            XMhRO8Cw+nok98xo7XV6DQwMAB84X3k=
            """
        ),
        "blocks/f1620797056c84930d1c1044fc935e9a5fa459891cf8897a3c08a0b7c63300cc83b73": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVGYwQcQYGPgYNoGoRoHpuoHo+oIgJRAkjO1StBFDtCyCnGshuKICICTDIQeSAGGSP
            AJBWYYCoqwLSC3og6iKg7hFAcg8PVJ8KWC8DQ6JeXkpWcX4eA5Sfn5Kmn1qSmA7ig9yQkpqWWJpTAtQHcifIJBawGa84IHaA/KEA
            xC5g/SCXsIDNYWRAACUgFlOIDvyy0cJUiGdDktJNLx0Oe21Dxpleex8n5XXl60p2mF9jYFAFqpvWcIBRYcs5P4XCh/KM6+4rvuS+
            dVnYcmFu4pTgLXX3/tZtmWAcxAM3s6nEmqd4mqr4qmWSqi0J+aas+6MX9djlTdfyszkZWHV0LgMDALtUPuw=
            """
        ),
        "blocks/f1620a79e8525b9b403c71f03a7028d5e0f38818c84461a632b50978db53260947483": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVFYwQcQYGPgYNoGoRoHpuoHo+oIgJRAkjB1StBlDtC3YGhhogu6EAIibAoAYkZYA6
            GcD2CABpHQaIuiogvWEWUO2mZ3wJIIOQ3CWA5C4eIAbpVwGbwcCQpJeXklWcn8cA5eenpOmnliSmg/hAYxlSUtMSS3NKgPpA7gWZ
            xAI24xbUoSD/aACxD1i/BFgeJMUEtZ2JAQGUgFhMYUNN/mZny9OnGOfVa0Y5v5rx8WRl1/zld9s2NicmJR91cWZgUAWqm9ZwgFHh
            NYfnwScCK5o7bs1eWK8tKn7k50OrCabrDT8cPa28ctGixXAzKwvCTngaXDzI4n/S9OXSX64zJp7vmL74QBd3TbIBzwnrYgYGAA7k
            StE=
            """
        ),
        "blocks/f1620a30fc19c21abfedcdf6d6a7296ef32971107c7e54c1e08249dac9647ac77def2": unpack(
            """
            eNoTYYABLgYJBh4GDgYWIIuBQQSImcHiDnAVFYwQcQYGPgYNoGoRoHpuoHo+oIgJRAkjJ1StBlDtC3YGhlogu6EAIibAoAYkZYA6
            GcD2CABpHQaIuiogvWEWUO2mZ3wJQDYTkrsEkNzFA8Qg/SpgMxgYkvXyUrKK8/MYoPz8lDT91JLEdBAfaCxDSmpaYmlOCVAfyL0g
            k1jAZtzigJgO8o8GEPuA9UuA5TngfkfQIKAExGIKu5fUfFHZ660nny1/WVtBMF06kS/j92M+VS+PuZaN6UmhDAyqQHXTGg4wKlya
            8khk/rNzJnu36cXf0/aSdL/gaNy/t+jNvHd7ZhrELt4HN3P5vFbVnVuYj8szL2fqjeO3aOxpcZNK1g6Y3rvVKGFKSTMDAwAxvEOj
            """
        ),
        "data/f16205b51f4b13835120cb06222d94a2c083f2b3101994abde3626e8a6f2d198837d6": unpack(
            """
            eNqNVjtvG0cQXi6P1EkgAonQLnjAFSqig5wIssnYhhQYhpcvUbQYizR8slgkOBxPpBxKtHliGBsuhNQGAqRyBCMw8gNcuEifJkWQ
            QmVK10HKQEWqzD7uIZEQsiB3Z2dm5/tmZpfSDmvliUaWyMfbsKAsQvN3kBoJtRJE0mRuFezzIKQRSuqJJIatTjLbBItTWkZ5gjbm
            iTWkid1i4Kib6F5z/fvE/3X+9fVnVznniBkQz6xioODnxVyAA1lCYwdml7hBS0jqF0H4OLl5D86APnZGN/mZZAJNHDn9EcZG86oj
            RhYbOT0oJohhPbFBQcHNmjRpl9R6UKOYeMGsqhITY2bs5/lUEKprFtJQjAqkGRO5C75mYaxcgrRiYszFpDWySjljk75JkE+UeB6J
            ZzgU3yfJOmdEdb471chtZThJSRECv6plnOFwMP7Kd3veoUM+gi4vo1zS956BGaS023OOup5U60PPHQw7Xmc5u/1qwZRtk5ZDz/FH
            w0uWzDLOpX3vyB8Ml9E2V5I5UM24Xt8/GPlyN7fv9IbeUc87OEZUM0zjpYVMohm3UHreEEwIphrt0L5Vs3Qz6mLUWopWpmgXFpDB
            7wUkgsQtgXtB/9TJIv0lRe4ijoIVispSANVpy3qTsI5NeSnkDAix3dTIf+uE0n9SZA3F+YclE7FbtG2dJ6zfEmZ0rSKJpzGpnQr2
            3SyA/ZxWaYRgQRdCsDNsvcVmdEkjSYBNaKeCveZgHwKwTFAz2VgB1aNPrfdJ619s3kYrcPH5C5gS6g7VxWtA9N0sMelPM6pYcypk
            cDFEzC/pvnWqWX8lzei1RBLFK1O00zA3+MtB9HeexB8zpHoBMXb5QtCTlHWmmdH7iyQOOqm9AvQDB/1BB1B6rvHLDT9eWUR1+i61
            yJ9iLsNarQe7n8vXl3ubui4GKzLGmkyO+4yNWanL6lwFKxNWPpqwZ2yLSVWwwnDhW2rwCA9ZRanLwvI1nypdMfPpyQ7AfStMj1TU
            IhP70qeCCeMQAQ/G2ofVgXtoj5xN+2lHBtkV0btsR1HeUiT2+FRjAdfGnpI2GeuyYpevYgTxhetewfbdQj/vjiFYscnjP2BsXYXs
            qmwE/0bAt9hi4SgKSk2FA5Uo2CO3sPEcLE2eT1V4jQP3+yE/Vq5weynkKwtm260yx4Xzx+3d6ovO43q/LWk3uH/tUrx6RGVL9a0i
            z8v+SIqcetG2Kw2ZfK3e3wOO7U1btId9UYbI61ESMpzoz5j363k83aDUxSfOZnXULjwS2qoqQnksS1aKFyVMkpVqqq5lUTdfmiqX
            4wu+L9qPKwzljI5z7OyP/IPB0dI33lCst26u5dduGC/hF37yg7rwR3kH/sv5D3x8lDI=
            """
        ),
        "data/f1620b07c6fb34339cbca019e7f295a43ea98f1c9798a9fa7dd86b183616263c54443": unpack(
            """
            eNqVVk1sE0cUHo83ZomsKokyI6+0By5ZUUBpbQgKVak6/otjYohdsSE+tFrWGyc0iYs3xiXi1CNC4YI49dBz1QMHDpwQZ1SpF8QZ
            VRx65oQ4oM6bn93FtqJ2ZM++ee/t+773s2uvs1aeGGSGzK8RTNAcQqaNkVwEcYt5jutnSIZkEMIGwqAiWe1sZI9z/CQq+nV4+WHq
            PzofPvnr/HHOWTKjnTPzwDfMc1ceIuEqE8GpCVTEWvr2f9xy4TxfYfO4W6w5bOVMXbyESLBFuQLMhjQZI2pTFychJs26HAkxYcZh
            XmxC9bmDsA6q0kyIoy46rYSYcLHpMjlDgbFN76ci8W0sPseR+ChNLgIjasDpgzyB+MaQIg/8oJb1+v3e8IfQ3w72PPIZb+8CyqXD
            4DY3cynjb3v73UCqzX7g9/qdoLMwt/Zg1pZtk5a9wAsH/RFLdgHnMmGwH/b6C2gNlGSaq074wW64MwjlaXrL2+4H+9vBzgGi2LKt
            ew6yiWEtocyMJZgQTDFt0baz7Jh23MVYouj0BO3sLLLO8bHhiSAxJdxAn5lknj6eIt8gQMEKRWUpgOq05dxPOTdtORRy5wiJ08TI
            f5qE0ldTZBEl+Ucli5J4m3Kepux4rGIJ0hjXTgT7G8B+yag0IjDdhQjsOXaOsB0PaSwB2Lh2Ith7AHuhwbK6ZrKxAqpNbzqP0s4/
            2L6ITvPBh+GfEOpraog5RvToJLHpx4wq1rQKqQdDxPyebjkf0s7LtB0/LbEkajWmnYR5SSL+fpIn8ccJUv0EMTF8Eegbw3li2PHz
            F0sAOq49BvQFgL4DUPragOHmL685RE16NDUPj2Iuy1qtaxtfyacv99vUF2KxImOsyeS6wtiQlbqsDip+ZcIKq8nPjK0yqdJXvnz+
            LTUgwnesotRlYfkRtkpX7LDdWudwPwvTdRW1yMS5dFYwYQCheTDW3qv2/D134K24P3VkkA0RvcvWFeVVRWITthrTXBubSlphrMuK
            XbiKpeML182CG/qF3bw/5MGKTYh/jbFlFbKrshH8G5pvscWiVRSUmgqHV6LgDvzCpbvc0oR8qsJrqN2vRPxYuQL2UsRXFsx1W2XA
            5fcftDeqh50b9d22pN0A/9pIvHpMZVX1rSLvl/2RFIF60XUrDZl8rb67yTm2V1zRHna1zCMvx0nIcKI/Q+jX3WS6utTFW95KddAu
            XBfaqipCeShLVkoWJUqSlWqqrmVRt1CaKqPxBd/D9o0KQzmr4x14W4Nwp7d/6k7QF9elC4v5xS+te/wNP/5BXf6jvM7/1fwLIZ2K
            0Q==
            """
        ),
        "data/f1620bba47cf424bd4b2e1f6b1fd32b2011671b610e68fbe30e254a489d3981676255": unpack(
            """
            eNqVVj1s20YUPp1ohTGEwjZ8BxHg0MVE2gZurDSBXbRBjvqxrFiNpSJ0rCEBQ9GyU9tqRatqggxFxyBwlyBbgM5Fhw4dOqWZi3Qp
            is5BkSFzJyNDkXv3QzKSYKQH6fjuvcf3fe+HlDZYa4kYZIbMrxNM0BxCpp1FchHELeZZrp8hOZJDCBsIg4rktbORP8nxjajo+LH7
            feYtnb/90z9/knOezGjn3DzmFKIV7spDpFxNGww4M4GKWMe//Y9b/njG1/qnl0+4xZrDVsHUxUuJBFuUK8BsSJMxojZ1cVJi2qzL
            kRJTZhytiE2o3nMQ1kFVmilx1EWnlRJTLjZdJu9TYGzT+5lYfJGIT3AsPsySi8CIGnB6JU8gPjekyAM/qOX9fr83vBkFO+G+T97h
            7V1AhWwUfsXNXMoFO/5BN5Rqsx8GvX4n7CzMrT+YtWXbpGU/9KNBf8SSX8CFXBQeRL3+AloHJZnmqlNBuBftDiJ5mt72d/rhwU64
            e4gotmzrnoNsYlgXUG7GEkwIppi2aNtZdkw76WIiUXRmgnZ2Flln+djwRJCYEj4X9FeTzNNHU+QSAhSsUFSWAqhOW879jHPLlkMh
            d46QOk2M/MwklP41RRZRmn9csjiJFxnnl4ydjFUiQRrj2olg/wDYdzmVRgymuxCDPcHOEbaTIU0kABvXTgQ7BrCnGiyvayYbK6Da
            9JbzMOu8xPZFdIYPPgz/hFCfUEPMMaJHp4lN/8upYk2rkHowRMwbdNt5lXV+z9rJ05JIolZj2kmYKxLxx9M8iZ9OkeobiKnhi0Gf
            G87Php08f4kEoOPaE0CfAui/AEr/NmC4+ctrDlGTHk3Nw6NYyLNW6+rmx/LpK/ww9aFYzGWMNZlcVxgbslKX1UHFr0xYYTX5mbE1
            JlX6ylfAv6UGRPicVZS6LCxfwFbpih222xsc7hthuqaiukycSx8IJgwgNA/G2vvVXrDvDfxV78uODLIponfZhqK8pkhswVZjmmtj
            S0mrjHWZ24WrWDq+cN0qelFQ3FsKhjyY24T4VxlbViG7KhvBv6H5ui0WL1dQaiocXomiNwiKK3e4pQn5VIXXULtfifmxcgXspZiv
            LJjntcqAy+8/bG9W73au1/faknYD/Gsj8eoJlTXVt4q8X/ZHUgTqrudVGjL5Wn1vi3Nsr3qiPeyzMo+8nCQhw4n+DKFfd9Lp6lK7
            t/3V6qBdvCa0VVWE8lCWrJQuSpwkK9VUXcuibpE0VUbjC75329crDBWsjn/obw+i3d7Bu1+HfXG98NHi0uI56x5/w49/UJf/KG/w
            fzWvATeHqOM=
            """
        ),
    },
}
