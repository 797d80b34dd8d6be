"""Size and SHA-256 of every benchmark file, by its path in a data folder."""

CHECKSUMS: dict[str, tuple[int, str]] = {
    "actuator.mat": (24642, "35d1f95176afd856eb4fe0e2f87e3dff39657db8e6fcf7c531078c8f4eb571e4"),
    "ballbeam.dat": (35000, "e9c48a4f7474953969d4950b4ef72558084b1995f776792ac0cbc80550e6ff42"),
    "drive.mat": (21464, "47d0825678d854d8a1bbcfb0ad1188026b853f69beb2067ea00cfd88d13dc4ca"),
    "dryer.dat": (35000, "adcb2f5a1d9e174d08dd49f7f037626745b5e69cbda0bc1e8dca2a7c687d4538"),
    "flutter.dat": (35840, "e944d4bc32ac403bc20f64e45afff525456dd19166962ebcc47a2cc9f9b39d81"),
    "gas_furnace.csv": (3568, "ce46e11490a11ac254a959d42d5858f66b3c8013a1b667e553b3d890c67e4d43"),
    "nonlinear/DATA_EMPS.mat": (
        626039,
        "6cf6814ae14618795da0101aae2bb97ff0c6351b0501b5492751b02b07facf7e",
    ),
    "nonlinear/DATA_EMPS_PULSES.mat": (
        630990,
        "0eab75bb1f6b16228ee78791343a88bf9bfd9a51036ac9807d7b5fc11c0e1704",
    ),
    "nonlinear/SNLS80mV.mat": (
        2097520,
        "5c7413a52255af0cb4e2f93fb6903beb92b08965ba1e6ad0a6ffedfed8477ed4",
    ),
    "nonlinear/Schroeder80mV.mat": (
        2097520,
        "ec5a9740a4789aa20b9d84f387424c0218e843844807b30b367c218778339fb6",
    ),
    "nonlinear/WienerHammerBenchmark.csv": (
        3649980,
        "95f241ac5e0afb48c47b24b3630f55e0d6f8f2f4dec145bd8adf852b19851fa3",
    ),
    "nonlinear/cascaded_tanks.mat": (
        24401,
        "cb2f88d4388be4d3f2a24c6402fba804976aac5f2e1f26cda59ea0a38d016eab",
    ),
    "sarcos_reconstructed_66x674.npz": (
        1850959,
        "b6afa258288fa626a9e865053840641aa63b21e77b0212f62c3e1a6dee32385b",
    ),
    "tailsitter/manual_position_1.mat": (
        2077967,
        "7e003c574b0a551f2dcd9491cc25d9cd6276eb07dfa02a4b59db91b89661c98e",
    ),
    "tailsitter/step_size1_1.mat": (
        1597502,
        "07fa218d024389b544e64b501d67769fd4e5a424c49a62a81aee3be7717d2b07",
    ),
    "tailsitter/step_size1_2.mat": (
        1595663,
        "705a90ac40636590b8e25ff6750f2df9646e4d612d0d2f622672e1f24fe1e567",
    ),
    "tailsitter/step_size2_1.mat": (
        1592665,
        "7bbcb1f42788027f4d853dde93d2a18f5b3381ce45f11584d958877ac9f0d318",
    ),
    "tailsitter/step_size2_2.mat": (
        1593587,
        "e12ef5f6a1d5bfe31092441af0a68dd6c7ef6d335b1b28adb7989e42459c0393",
    ),
    "tailsitter/step_size3_1.mat": (
        1593593,
        "157c30063ab1f6a7631b09789b0b1e678d9278cbfc97c837456c44caf136919e",
    ),
    "tank.mat": (60240, "def34c70b239f7d5e9e2228e957a6dfdbb909340941db8f84b23686a17fd3133"),
}
